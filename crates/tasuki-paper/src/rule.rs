//! Rules by which a figure agrees with a published one. A rule belongs to the claim, so it is stated before
//! anything is run.

/// When a figure agrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// The figure went into what is run, or follows from what did by arithmetic: nothing is judged.
    Input,
    /// Within so many per cent of the published figure.
    Percent(f64),
    /// Within this distance, in the claim's unit.
    Within(f64),
    /// It rounds to the printed figure, whose last digit has twice this worth.
    Printed(f64),
    /// At least the published figure: the text says "or more".
    AtLeast,
    /// A ratio: its distance from 1 within a fifth of the published one's, or 0.02 if that is more.
    Effect,
    /// Exactly the published figure.
    Equal,
    /// A statement: 1 is true, 0 is false.
    Holds,
    /// The range over all that is unknown contains the printed figure, whose last digit has twice this worth.
    RangeHolds(f64),
    /// A statement holds for all that is unknown.
    AllHold,
    /// At least one of the unknown networks has all figures that are parts of this claim.
    Together,
}

impl Rule {
    /// The rule in words; `unit` is the unit of the claim.
    pub fn text(self, unit: &str) -> String {
        let plain = |value: f64| format!("{value}");
        match self {
            Rule::Input => "input".into(),
            Rule::Percent(percent) => format!("within {} %", plain(percent)),
            Rule::Within(distance) if unit == "%" => format!("within {} points", plain(distance)),
            Rule::Within(distance) => format!("within {} {unit}", plain(distance)),
            Rule::Printed(half) => format!("rounds to it (+-{})", plain(half)),
            Rule::AtLeast => "at least that".into(),
            Rule::Effect => format!("effect within a fifth, or {EFFECT_LEAST}"),
            Rule::Equal => "equal".into(),
            Rule::Holds => "holds".into(),
            Rule::RangeHolds(half) => format!("range holds it (+-{})", plain(half)),
            Rule::AllHold => "holds in all that fit".into(),
            Rule::Together => "one has all parts".into(),
        }
    }

    /// Whether a figure agrees; `None` for inputs.
    pub fn agrees(self, published: f64, here: f64, range: Option<[f64; 2]>) -> Option<bool> {
        // Sums of decimal fractions are not exact in binary.
        const ROUNDING: f64 = 1e-9;
        let off = (here - published).abs();
        let [low, high] = range.unwrap_or([here, here]);
        Some(match self {
            Rule::Input => return None,
            Rule::Percent(percent) => off <= percent / 100.0 * published.abs() + ROUNDING,
            Rule::Within(distance) => off <= distance + ROUNDING,
            Rule::Printed(half) => off <= half + ROUNDING,
            Rule::AtLeast => here >= published - ROUNDING,
            Rule::Effect => off <= allowed_effect(published) + ROUNDING,
            Rule::Equal | Rule::Holds => off <= ROUNDING,
            Rule::RangeHolds(half) => {
                low - half - ROUNDING <= published && published <= high + half + ROUNDING
            }
            Rule::AllHold => (low - published).abs() <= ROUNDING && (high - published).abs() <= ROUNDING,
            Rule::Together => here >= 1.0,
        })
    }

    /// How far a figure is off, where 1 is the most that the rule lets pass; to choose between figures that
    /// all agree or all do not.
    pub(crate) fn strain(self, published: f64, here: f64) -> f64 {
        let allowed = match self {
            Rule::Percent(percent) => percent / 100.0 * published.abs(),
            Rule::Within(distance) | Rule::Printed(distance) => distance,
            Rule::Effect => allowed_effect(published),
            _ => 1.0,
        };
        (here - published).abs() / allowed.max(1e-12)
    }
}

/// The least that ratios may differ in: what two measurements of the same thing differ in.
const EFFECT_LEAST: f64 = 0.02;

/// By how much a ratio may differ from a published one.
fn allowed_effect(published: f64) -> f64 {
    ((published - 1.0).abs() / 5.0).max(EFFECT_LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_agrees_within_its_rule_and_no_further() {
        for (rule, published, near, far) in [
            (Rule::Percent(2.0), 50.0, 51.0, 51.1),
            (Rule::Within(2.0), 24.0, 26.0, 26.1),
            (Rule::Printed(0.5), 1.0, 0.5, 0.03),
            (Rule::AtLeast, 90.0, 97.0, 89.0),
            (Rule::Effect, 1.05, 1.07, 1.0),
            (Rule::Effect, 2.5, 2.79, 2.96),
            (Rule::Effect, 0.90, 0.92, 1.0),
            (Rule::Holds, 1.0, 1.0, 0.0),
        ] {
            assert_eq!(rule.agrees(published, near, None), Some(true), "{rule:?}");
            assert_eq!(rule.agrees(published, far, None), Some(false), "{rule:?}");
        }
        assert_eq!(Rule::Input.agrees(1.0, 1.0, None), None, "an input is no agreement");
    }

    /// A range has no slack but that of the printed figure: 47.83 is not in 47.9 to 50.4.
    #[test]
    fn a_range_has_no_hidden_slack() {
        let range = Some([47.9, 50.4]);
        assert_eq!(Rule::RangeHolds(0.005).agrees(47.83, 49.0, range), Some(false));
        assert_eq!(Rule::RangeHolds(0.5).agrees(48.0, 49.0, Some([48.4, 50.0])), Some(true));
        assert_eq!(Rule::AllHold.agrees(1.0, 1.0, Some([0.0, 1.0])), Some(false));
    }
}
