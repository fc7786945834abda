//! Leaves out columns of a table that is too wide for its terminal.

use super::{Rows, longest_word, total};

impl Rows {
    /// Leaves out columns, in this order, until the others fit a terminal of so many columns in one part.
    /// Returns the number of columns that are left out.
    pub fn fit(&mut self, width: Option<usize>, order: &[&str]) -> usize {
        let mut left_out = 0;
        for name in order {
            if self.fits(width) {
                break;
            }
            let Some(at) = self.header.iter().position(|column| column == name) else { continue };
            self.remove(at);
            left_out += 1;
        }
        left_out
    }

    /// Whether the table fits a terminal of so many columns in one part, if need be with names of columns and
    /// texts broken between words.
    fn fits(&self, width: Option<usize>) -> bool {
        let least: Vec<usize> = (0..self.header.len())
            .map(|at| self.cell_width(at).max(longest_word(&self.header[at])))
            .collect();
        width.is_none_or(|width| total(&least) <= width)
    }

    /// Removes the column at this place.
    fn remove(&mut self, at: usize) {
        self.header.remove(at);
        self.rows.iter_mut().filter(|row| at < row.len()).for_each(|row| _ = row.remove(at));
        if at < self.keys {
            self.keys -= 1;
        }
        if at < self.right_from && self.right_from != usize::MAX {
            self.right_from -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::table::tests::wide;

    #[test]
    fn the_least_important_columns_are_left_out_until_the_rest_fits() {
        let order = ["cost", "bisection", "switch fails"];
        for (width, left_out) in [(None, 0), (Some(200), 0), (Some(70), 1), (Some(62), 2)] {
            let mut rows = wide();
            assert_eq!(rows.fit(width, &order), left_out, "{width:?}:\n{}", rows.text(width));
            let text = rows.text(width);
            assert!(!text.contains("\n\n"), "several parts at {width:?}:\n{text}");
            for (number, name) in order.iter().enumerate() {
                let words = name.split(' ').all(|word| text.contains(word));
                assert_eq!(words, number >= left_out, "{name} at {width:?}:\n{text}");
            }
        }
        // Figures stay at the right of their columns.
        let mut rows = wide();
        rows.fit(Some(62), &["cabling", "cost"]);
        assert!(rows.text(None).contains("     12.5"), "{}", rows.text(None));
    }
}
