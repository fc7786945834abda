//! A published figure beside a simulated one.

/// The condition under which a simulated figure agrees with a published one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// The model was fitted to the published figure, or the figure follows from those that it was fitted to.
    Fitted,
    /// Within 2 %, or two of the paper's standard errors (in the cell's unit), whichever is more.
    Near(f64),
    /// Within this distance, in the cell's unit.
    Within(f64),
    /// The range over all graphs that fit contains the published figure, give or take this many of the cell's
    /// units.
    Range(f64),
    /// No condition: the reader judges.
    Shown,
}

/// A cell of a table, or a figure's stated result.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// "T3", "F6".
    pub table: &'static str,
    /// Name of the cell within the table or figure.
    pub cell: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Published value.
    pub published: f64,
    /// Simulated value; the median if there is a range.
    pub simulated: f64,
    /// Least and greatest value over all graphs, or choices, that fit.
    pub range: Option<[f64; 2]>,
    /// When the values agree.
    pub target: Target,
    /// A remark for the reader.
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

    /// A cell whose figure depends on something unknown: the simulated values of all possibilities.
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

    /// This cell with a note.
    #[must_use]
    pub fn noted(self, note: &'static str) -> Cell {
        Cell { note, ..self }
    }

    /// Whether the values agree; `None` if the cell has no condition.
    pub fn agrees(&self) -> Option<bool> {
        let off = (self.simulated - self.published).abs();
        match self.target {
            Target::Shown => None,
            // A fitted figure must be met, apart from the rounding of the published one.
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
