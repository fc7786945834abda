//! The rows of a table, as the user wants them: which, in which order, in how many columns.

use crate::{
    columns::{Cell, Column, Mark},
    scope::Scope,
};

/// A row.
pub(crate) struct Row {
    pub cells: Vec<Cell>,
    pub marks: Vec<Mark>,
    /// What the user looks into from here.
    pub leads_to: Option<Scope>,
}

/// A table.
pub(crate) struct Grid {
    pub titles: Vec<&'static str>,
    leaves: Vec<u8>,
    pub rows: Vec<Row>,
}

impl Grid {
    pub fn new<'a, T: 'a>(
        columns: &[Column<T>],
        items: impl Iterator<Item = &'a T>,
        leads_to: impl Fn(&T) -> Option<Scope>,
    ) -> Self {
        let row = |item: &T| Row {
            cells: columns.iter().map(|column| (column.cell)(item)).collect(),
            marks: columns.iter().map(|column| (column.mark)(item)).collect(),
            leads_to: leads_to(item),
        };
        Self {
            titles: columns.iter().map(|column| column.title).collect(),
            leaves: columns.iter().map(|column| column.leaves).collect(),
            rows: items.map(row).collect(),
        }
    }

    /// Keeps the rows of which a cell contains the text, whatever the case of its letters.
    pub fn keep(&mut self, text: &str) {
        let text = text.to_lowercase();
        self.rows.retain(|row| row.cells.iter().any(|cell| cell.plain().to_lowercase().contains(&text)));
    }

    /// Sorts by a column; rows that are equal in it stay as they are.
    pub fn sort(&mut self, column: usize, reversed: bool) {
        self.rows.sort_by(|one, other| {
            let order = one.cells[column].compare(&other.cells[column]);
            if reversed { order.reverse() } else { order }
        });
    }

    /// The columns that fit so many characters, and the width of each; [`GAP`] is between two. Shares are
    /// `bar` characters wider than their number. Columns of which nothing is known are left out; those that
    /// must never be left out stay in any case.
    pub fn fit(&self, room: usize, bar: usize) -> Vec<(usize, usize)> {
        let is_known = |column: &usize| {
            self.rows.is_empty() || self.rows.iter().any(|row| row.cells[*column] != Cell::Unknown)
        };
        let columns = (0..self.titles.len()).filter(|column| self.leaves[*column] == 0 || is_known(column));
        let mut columns: Vec<(usize, usize)> =
            columns.map(|column| (column, self.width(column, bar))).collect();
        while columns.iter().map(|(_, width)| width + GAP).sum::<usize>() > room + GAP {
            // Of columns that are as dispensable as each other the last goes first.
            let least =
                columns.iter().enumerate().max_by_key(|(at, (column, _))| (self.leaves[*column], *at));
            match least.map(|(at, (column, _))| (at, self.leaves[*column])) {
                Some((at, leaves)) if leaves > 0 => drop(columns.remove(at)),
                _ => break,
            }
        }
        columns
    }

    fn width(&self, column: usize, bar: usize) -> usize {
        let cell = |row: &Row| {
            let bar = if matches!(row.cells[column], Cell::Share(_)) { bar } else { 0 };
            row.cells[column].plain().chars().count().max(if bar > 0 { PERCENT } else { 0 }) + bar
        };
        let widest = self.rows.iter().map(cell).max().unwrap_or(0);
        widest.max(self.titles[column].chars().count())
    }
}

/// Blanks between two columns, in characters.
pub(crate) const GAP: usize = 2;
/// Characters of `100 %`.
pub(crate) const PERCENT: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column<(&str, f64)>] = &[
        Column { title: "name", leaves: 0, cell: |item| Cell::Text(item.0.into()), mark: |_| Mark::Plain },
        Column { title: "share", leaves: 2, cell: |item| Cell::Share(item.1), mark: |_| Mark::Plain },
        Column {
            title: "long title",
            leaves: 1,
            cell: |item| Cell::Text(item.0.into()),
            mark: |_| Mark::Plain,
        },
    ];

    fn grid() -> Grid {
        Grid::new(COLUMNS, [("n2", 0.5), ("n10", 0.25), ("m1", 1.0)].iter(), |_| None)
    }

    fn names(grid: &Grid) -> Vec<String> {
        grid.rows.iter().map(|row| row.cells[0].plain()).collect()
    }

    #[test]
    fn rows_are_sorted_and_kept_as_asked() {
        let mut grid = grid();
        grid.sort(0, false);
        assert_eq!(names(&grid), ["m1", "n2", "n10"]);
        grid.sort(1, false);
        assert_eq!(names(&grid), ["m1", "n2", "n10"]);
        grid.sort(1, true);
        assert_eq!(names(&grid), ["n10", "n2", "m1"]);
        grid.keep("N1");
        assert_eq!(names(&grid), ["n10"]);
    }

    #[test]
    fn columns_leave_a_narrow_terminal_the_least_important_first() {
        let columns = |room, bar| grid().fit(room, bar).iter().map(|(column, _)| *column).collect::<Vec<_>>();
        // Widths of 4, 5 and 10 characters, and two gaps of two.
        assert_eq!(columns(23, 0), [0, 1, 2]);
        assert_eq!(columns(23, 4), [0, 2], "bars take room");
        assert_eq!(columns(22, 0), [0, 2]);
        assert_eq!(columns(15, 0), [0]);
        assert_eq!(columns(1, 0), [0], "the first stays in any case");
        assert_eq!(grid().fit(80, 4), [(0, 4), (1, 9), (2, 10)]);
    }
}
