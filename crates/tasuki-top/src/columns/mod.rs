//! The columns of the four tables.

mod hosts;
mod jobs;
mod nics;
mod ranks;

pub(crate) use hosts::HOSTS;
pub(crate) use jobs::JOBS;
pub(crate) use nics::NICS;
pub(crate) use ranks::RANKS;

use std::cmp::Ordering;
use tasuki_terminal::bytes;

/// What a cell shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// A name or a state; names sort first to last.
    Text(String),
    /// A number, and how it is written; numbers sort largest first.
    Number(f64, String),
    /// A share of a whole, 0 to 1, shown with a bar.
    Share(f64),
    /// Nothing is known. Sorts last.
    Unknown,
}

/// Whether a cell is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Plain,
    /// Worth a look.
    Doubtful,
    /// Something is wrong.
    Bad,
}

impl Mark {
    fn doubtful_if(is: bool) -> Self {
        if is { Self::Doubtful } else { Self::Plain }
    }

    fn bad_if(is: bool) -> Self {
        if is { Self::Bad } else { Self::Plain }
    }
}

/// A column of a table of `T`.
pub(crate) struct Column<T> {
    pub title: &'static str,
    /// The narrower a terminal is, the more columns are left out, those with the highest number first; 0 is
    /// never left out.
    pub leaves: u8,
    pub cell: fn(&T) -> Cell,
    pub mark: fn(&T) -> Mark,
}

impl<T> Column<T> {
    const fn new(title: &'static str, leaves: u8, cell: fn(&T) -> Cell) -> Self {
        Self { title, leaves, cell, mark: |_| Mark::Plain }
    }

    const fn marked(mut self, mark: fn(&T) -> Mark) -> Self {
        self.mark = mark;
        self
    }
}

impl Cell {
    fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    fn count(count: u64) -> Self {
        Self::Number(count as f64, count.to_string())
    }

    /// A number of events per second.
    fn rate(rate: f64) -> Self {
        let text = match rate {
            0.0 => "0".into(),
            rate if rate < 9.95 => format!("{rate:.1}"),
            rate if rate < 9_999.5 => format!("{rate:.0}"),
            rate if rate < 999_500.0 => format!("{:.0} k", rate / 1e3),
            rate => format!("{:.1} M", rate / 1e6),
        };
        Self::Number(rate, text)
    }

    /// Bytes, or bytes per second.
    fn bytes(count: f64) -> Self {
        Self::Number(count, bytes(count as u64))
    }

    fn or_unknown<V>(value: Option<V>, cell: impl FnOnce(V) -> Self) -> Self {
        value.map_or(Self::Unknown, cell)
    }

    /// What a plain table shows.
    pub fn plain(&self) -> String {
        match self {
            Self::Text(text) | Self::Number(_, text) => text.clone(),
            Self::Share(share) => format!("{:.0} %", 100.0 * share),
            Self::Unknown => "-".into(),
        }
    }

    /// Whether it stands at the right of its column.
    pub fn is_right(&self) -> bool {
        !matches!(self, Self::Text(_))
    }

    /// The order of rows by this column.
    pub fn compare(&self, other: &Self) -> Ordering {
        use Cell::{Number, Share, Text, Unknown};
        match (self, other) {
            (Text(one), Text(other)) => natural(one, other),
            (Number(one, _) | Share(one), Number(other, _) | Share(other)) => other.total_cmp(one),
            (Unknown, Unknown) => Ordering::Equal,
            (Unknown, _) => Ordering::Greater,
            (_, Unknown) => Ordering::Less,
            (Text(_), _) => Ordering::Less,
            (_, Text(_)) => Ordering::Greater,
        }
    }
}

/// The order of names in which `n2` comes before `n10`.
fn natural(one: &str, other: &str) -> Ordering {
    let key = |text: &str| {
        let digits = text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, number) = text.split_at(text.len() - digits);
        (stem.to_owned(), number.parse::<u64>().ok(), number.to_owned())
    };
    key(one).cmp(&key(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_as_people_count_and_numbers_largest_first() {
        let mut names = ["n10", "n2", "m3", "n", "n1"].map(Cell::text);
        names.sort_by(Cell::compare);
        assert_eq!(names.map(|name| name.plain()), ["m3", "n", "n1", "n2", "n10"]);
        let mut numbers = [Cell::rate(1.0), Cell::Unknown, Cell::rate(30.0), Cell::Share(2.0)];
        numbers.sort_by(Cell::compare);
        assert_eq!(numbers.map(|number| number.plain()), ["30", "200 %", "1.0", "-"]);
    }

    #[test]
    fn rates_keep_four_digits() {
        let shown =
            [0.0, 0.04, 9.94, 9.96, 9_999.0, 10_000.0, 1_234_567.0].map(|rate| Cell::rate(rate).plain());
        assert_eq!(shown, ["0", "0.0", "9.9", "10", "9999", "10 k", "1.2 M"]);
    }
}
