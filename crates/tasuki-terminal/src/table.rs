//! Tables for people. On a terminal they are no wider than it: first the names of columns are broken between
//! words, then cells with texts; what is still too wide is printed in parts, one below the other, each of
//! which begins with the columns that name the row. Words and figures are never broken.

mod fit;

use crate::{output::in_a_line, terminal};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use std::fmt;

/// Blanks beside the text of a cell, in characters.
const PADDING: usize = 2;
/// Width in characters below which no column of texts is narrowed, so that no column has a word per line.
const TEXT_WIDTH_MIN: usize = 12;

/// A table for people. Whatever text a cell holds, it stays in its row, and a terminal does not obey it.
pub struct Rows {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Number of columns at the left that name a row.
    keys: usize,
    /// The columns from this number on hold figures and are aligned to the right.
    right_from: usize,
}

/// A table with these column names, the first of which holds the names of rows.
pub fn table<const N: usize>(header: [&str; N]) -> Rows {
    let mut rows = Rows { header: Vec::new(), rows: Vec::new(), keys: 1, right_from: usize::MAX };
    rows.set_header(header);
    rows
}

impl Rows {
    /// Replaces the names of columns.
    pub fn set_header(&mut self, header: impl IntoIterator<Item = impl AsRef<str>>) -> &mut Self {
        self.header = header.into_iter().map(|name| in_a_line(name.as_ref()).into_owned()).collect();
        self
    }

    /// Adds a row.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item = impl ToString>) -> &mut Self {
        self.rows.push(cells.into_iter().map(|cell| in_a_line(&cell.to_string()).into_owned()).collect());
        self
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// So many columns at the left name a row; they stand in every part of a table that is too wide.
    pub fn keys(&mut self, keys: usize) -> &mut Self {
        self.keys = keys;
        self
    }

    /// Aligns the columns from number `from` on to the right, because they hold figures.
    pub fn right_from(&mut self, from: usize) -> &mut Self {
        self.right_from = from;
        self
    }

    /// Removes columns in which every cell is `-`.
    pub fn without_empty_columns(&mut self) -> &mut Self {
        let is_kept = |column: &usize| self.rows.iter().any(|row| row[*column] != "-");
        let kept: Vec<usize> = (0..self.header.len()).filter(is_kept).collect();
        let of = |cells: &[String]| kept.iter().map(|&column| cells[column].clone()).collect();
        self.header = of(&self.header);
        self.rows = self.rows.iter().map(|row| of(row)).collect();
        self
    }

    /// The table's text, on a terminal of so many columns, or on paper without limit.
    pub fn text(&self, width: Option<usize>) -> String {
        let all: Vec<usize> = (0..self.header.len()).collect();
        let widths = |measure: fn(&Self, usize) -> usize| -> Vec<usize> {
            all.iter().map(|&column| measure(self, column)).collect()
        };
        let natural = widths(|rows, column| rows.width(column, &|text| length(text)));
        let Some(width) = width.filter(|width| total(&natural) > *width) else {
            return self.part(&all, &natural);
        };
        let most = widths(|rows, column| rows.cell_width(column).max(longest_word(&rows.header[column])));
        let least: Vec<usize> = all
            .iter()
            .map(|&column| self.width(column, &longest_word).max(most[column].min(TEXT_WIDTH_MIN)))
            .collect();
        let parts = self.columns_of_parts(&least, &most, width).into_iter().map(|columns| {
            let of = |all: &[usize]| columns.iter().map(|&column| all[column]).collect::<Vec<_>>();
            self.part(&columns, &narrowed(of(&most), &of(&least), width))
        });
        parts.collect::<Vec<_>>().join("\n\n")
    }

    /// The columns of each part of a table whose columns are at least so wide: those that name rows, and as
    /// many others as fit. `most` is how wide the columns are if no cell is broken.
    fn columns_of_parts(&self, least: &[usize], most: &[usize], width: usize) -> Vec<Vec<usize>> {
        let keys: Vec<usize> = (0..self.keys.min(self.header.len())).collect();
        let mut parts = vec![keys.clone()];
        let wide = |part: &[usize]| -> usize {
            let of = |&column: &usize| if column < self.keys { most[column] } else { least[column] };
            total(&part.iter().map(of).collect::<Vec<_>>())
        };
        for column in keys.len()..self.header.len() {
            let part = parts.len() - 1;
            parts[part].push(column);
            if wide(&parts[part]) > width && parts[part].len() > keys.len() + 1 {
                parts[part].pop();
                parts.push([&keys[..], &[column]].concat());
            }
        }
        parts
    }

    /// The text of these columns, each of this width.
    fn part(&self, columns: &[usize], widths: &[usize]) -> String {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        let row = |cells: &[String]| {
            let cell = |(&column, &width): (&usize, &usize)| {
                let text = cells.get(column).map_or("", String::as_str);
                let side = if column >= self.right_from { CellAlignment::Right } else { CellAlignment::Left };
                Cell::new(lines(text, width).join("\n")).set_alignment(side)
            };
            columns.iter().zip(widths).map(cell).collect::<Vec<_>>()
        };
        table.set_header(row(&self.header));
        self.rows.iter().for_each(|cells| _ = table.add_row(row(cells)));
        table.trim_fmt()
    }

    /// The greatest measure of a column's name and cells.
    fn width(&self, column: usize, measure: &dyn Fn(&str) -> usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.chain(self.header.get(column)).map(|text| measure(text)).max().unwrap_or(0)
    }

    /// The width of the widest cell of a column.
    fn cell_width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|text| length(text)).max().unwrap_or(0)
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(terminal::width()))
    }
}

/// Width of a text in characters.
fn length(text: &str) -> usize {
    text.chars().count()
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(length).max().unwrap_or(0)
}

/// The width of a table with columns of these widths.
fn total(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + PADDING).sum()
}

/// Takes from the widest columns, down to their least widths, until a table fits.
fn narrowed(mut widths: Vec<usize>, least: &[usize], width: usize) -> Vec<usize> {
    while total(&widths) > width {
        let widest = (0..widths.len()).filter(|&at| widths[at] > least[at]).max_by_key(|&at| widths[at]);
        let Some(widest) = widest else { break };
        widths[widest] -= 1;
    }
    widths
}

/// Breaks a text between words into lines of at most so many characters. A word that is longer has a line of
/// its own.
pub fn lines(text: &str, width: usize) -> Vec<String> {
    if length(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut().filter(|line| length(line) + 1 + length(word) <= width) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A table of texts and figures that is 76 characters wide.
    pub(in crate::table) fn wide() -> Rows {
        let mut rows = table(["", "cabling", "all to all", "switch fails", "bisection", "cost"]);
        rows.add_row(["1", "full mesh of cables and a switch", "1000.5", "0", "2000 to 3000", "-"]);
        rows.add_row(["2", "ring", "250", "12.5", "500", "-"]);
        rows.keys(2).right_from(2);
        rows
    }

    fn words(text: &str) -> Vec<String> {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    }

    #[test]
    fn a_table_is_as_wide_as_it_may_be_and_keeps_its_words() {
        let rows = wide();
        let unlimited = rows.text(None);
        for width in [74, 70, 64, 60, 50, 44, 40] {
            let text = rows.text(Some(width));
            assert!(text.lines().all(|line| length(line) <= width), "{width}:\n{text}");
            let (all, found) = (words(&unlimited), words(&text));
            assert!(all.iter().all(|word| found.contains(word)), "{width}:\n{text}");
        }
        assert_eq!(rows.text(Some(200)), unlimited);
    }

    #[test]
    fn every_part_names_its_rows() {
        let text = wide().text(Some(60));
        let parts: Vec<&str> = text.split("\n\n").collect();
        assert!(parts.len() > 1, "{text}");
        assert!(parts.iter().all(|part| part.contains("full mesh of cables and a switch")), "{text}");
    }

    #[test]
    fn names_of_columns_are_broken_first() {
        let mut rows = table(["a", "all to all"]);
        rows.add_row(["row", "17"]);
        assert_eq!(rows.text(Some(14)), " a    all \n      to \n      all\n row  17".replace(" \n", "\n"));
    }

    #[test]
    fn columns_without_values_are_left_out() {
        let mut rows = wide();
        rows.without_empty_columns();
        assert!(!rows.text(None).contains("cost"), "{}", rows.text(None));
        assert!(rows.text(None).contains("bisection"), "{}", rows.text(None));
    }

    #[test]
    fn a_cell_can_neither_end_its_row_nor_colour_it() {
        let mut rows = table(["a"]);
        rows.add_row(["two\nlines\u{1b}[31m"]);
        assert_eq!(rows.text(None).lines().count(), 2, "{}", rows.text(None));
        assert!(!rows.text(None).contains('\u{1b}'), "{}", rows.text(None));
    }

    #[test]
    fn texts_are_broken_between_words_alone() {
        assert_eq!(lines("one two  three", 8), ["one two", "three"]);
        assert_eq!(lines("a verylongword b", 5), ["a", "verylongword", "b"]);
        assert_eq!(lines("fits  well", 10), ["fits  well"]);
    }
}
