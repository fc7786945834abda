//! Values of which only a range is known.

use serde::Serialize;

/// A value that is known to lie in a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// The value is no less.
    pub lower: f64,
    /// The value is no more.
    pub upper: f64,
}

impl Range {
    /// The range divided by `unit`, that is, in a unit which is this many times as large.
    pub fn scaled(self, unit: f64) -> Self {
        Self { lower: self.lower / unit, upper: self.upper / unit }
    }

    /// The range as text: a single value if both ends are printed alike.
    pub fn show(self, unit: &str) -> String {
        let (lower, upper) = (digits(self.lower), digits(self.upper));
        if lower == upper { format!("{upper}{unit}") } else { format!("{lower} to {upper}{unit}") }
    }
}

/// A number with at most three significant digits after the point, without trailing zeros.
pub fn digits(value: f64) -> String {
    let text = if value >= 100.0 { format!("{value:.0}.") } else { format!("{value:.3}") };
    text.trim_end_matches(|c| c == '0' && text.contains('.')).trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [100.0, 120.4, 4.0, 0.125, 1.0 / 3.0, 0.0].map(digits);
        assert_eq!(shown, ["100", "120", "4", "0.125", "0.333", "0"]);
        assert_eq!(Range { lower: 1.0, upper: 1.0001 }.show(" G"), "1 G");
        assert_eq!(Range { lower: 1e9, upper: 2e9 }.scaled(1e9).show(" G"), "1 to 2 G");
    }
}
