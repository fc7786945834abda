//! A published figure beside a simulated one.

/// When a simulated figure agrees with a published one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// The model was fitted to it, or it follows from what was.
    Fitted,
    /// Within 2 %, or two of the paper's standard errors (in the cell's unit), whichever is more.
    Near(f64),
    /// Within so many of the cell's units.
    Within(f64),
    /// The range over all graphs that fit holds it, within so many units.
    Range(f64),
    /// No aim: shown to be judged.
    Shown,
}

/// A cell of a table, or a figure's stated result.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// "T3", "F6".
    pub table: &'static str,
    /// Which of it.
    pub cell: String,
    /// Its unit.
    pub unit: &'static str,
    /// As published.
    pub published: f64,
    /// As simulated; the median where it is a range.
    pub simulated: f64,
    /// Over all graphs, or choices, that fit.
    pub range: Option<[f64; 2]>,
    /// When it agrees.
    pub target: Target,
    /// What has to be said.
    pub note: &'static str,
}

impl Cell {
    /// A cell with one simulated figure.
    pub fn new(
        table: &'static str,
        cell: impl Into<String>,
        unit: &'static str,
        (published, simulated): (f64, f64),
        target: Target,
    ) -> Cell {
        Cell { table, cell: cell.into(), unit, published, simulated, range: None, target, note: "" }
    }

    /// A cell whose figure depends on what is not known.
    pub fn over(
        table: &'static str,
        cell: impl Into<String>,
        unit: &'static str,
        published: f64,
        mut simulated: Vec<f64>,
        slack: f64,
    ) -> Cell {
        simulated.sort_by(f64::total_cmp);
        let middle = simulated.get(simulated.len() / 2).copied().unwrap_or(f64::NAN);
        let range = simulated.first().copied().zip(simulated.last().copied());
        Cell {
            table,
            cell: cell.into(),
            unit,
            published,
            simulated: middle,
            range: range.map(|(low, high)| [low, high]),
            target: Target::Range(slack),
            note: "",
        }
    }

    /// The same with a note.
    #[must_use]
    pub fn noted(self, note: &'static str) -> Cell {
        Cell { note, ..self }
    }

    /// Whether it agrees; none where there is nothing to agree on.
    pub fn agrees(&self) -> Option<bool> {
        let off = (self.simulated - self.published).abs();
        match self.target {
            Target::Shown => None,
            // What was fitted must come out, but for the rounding of the published figure.
            Target::Fitted => Some(off <= 0.011),
            Target::Near(errors) => Some(off <= (0.02 * self.published.abs()).max(errors)),
            Target::Within(units) => Some(off <= units),
            Target::Range(slack) => Some(
                self.range.is_some_and(|[low, high]| (low - slack..=high + slack).contains(&self.published)),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_what_the_target_says() {
        let cell = |published, simulated, target| Cell::new("T", "c", "us", (published, simulated), target);
        assert_eq!(cell(100.0, 102.0, Target::Near(0.5)).agrees(), Some(true));
        assert_eq!(cell(100.0, 102.1, Target::Near(0.5)).agrees(), Some(false));
        assert_eq!(cell(10.0, 10.4, Target::Near(0.5)).agrees(), Some(true));
        assert_eq!(cell(24.0, 29.1, Target::Within(5.0)).agrees(), Some(false));
        assert_eq!(cell(1.0, 2.0, Target::Shown).agrees(), None);
        let over = Cell::over("T", "c", "us", 5.0, vec![6.0, 4.0, 4.5], 0.0);
        assert_eq!((over.simulated, over.range, over.agrees()), (4.5, Some([4.0, 6.0]), Some(true)));
        assert_eq!(Cell::over("T", "c", "us", 5.0, Vec::new(), 0.0).agrees(), Some(false));
    }
}
