//! Errors of a cluster file, with their places in it.

use super::problem::Problem;
use std::{
    cell::RefCell,
    fmt,
    ops::Range,
    path::{Path, PathBuf},
};

/// A range of bytes in the file.
pub(super) type Span = Range<usize>;

/// Longest part of a line that is shown, characters.
const SHOWN_MAX: usize = 160;

/// Everything that is wrong with a cluster file, in the order of the file.
///
/// Displayed as a compiler does: for each error the place, the key, what is wrong, the line with a mark below
/// the part at fault, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterErrors {
    /// The file.
    pub source: Option<PathBuf>,
    /// The errors; never empty.
    pub errors: Vec<ClusterError>,
}

/// One error.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterError {
    /// Where it is.
    pub place: Place,
    /// The key, as `host.nic.mtu`; empty for the file as a whole.
    pub key: String,
    /// What is wrong.
    pub problem: Problem,
    /// Other places that matter, such as where a name was used first.
    pub notes: Vec<(Place, String)>,
    /// The line, and the number of characters of it that are at fault.
    line_text: String,
    width: usize,
}

/// A place in the file; both numbers count from 1, columns in characters. Line 0 stands for the file as a
/// whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// Collects errors with their byte ranges.
#[derive(Default)]
pub(super) struct Findings {
    list: RefCell<Vec<Finding>>,
}

struct Finding {
    span: Span,
    key: String,
    problem: Problem,
    notes: Vec<(Span, String)>,
}

impl Findings {
    pub(super) fn add(&self, span: Span, key: impl Into<String>, problem: Problem) {
        self.add_with_notes(span, key, problem, Vec::new());
    }

    pub(super) fn add_with_notes(
        &self,
        span: Span,
        key: impl Into<String>,
        problem: Problem,
        notes: Vec<(Span, String)>,
    ) {
        self.list.borrow_mut().push(Finding { span, key: key.into(), problem, notes });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }

    /// The errors, if there are any.
    pub(super) fn finish(self, text: &str, source: Option<&Path>) -> Result<(), ClusterErrors> {
        let mut list = self.list.into_inner();
        list.sort_by_key(|finding| finding.span.start);
        let lines = Lines::new(text);
        let errors: Vec<_> = list.into_iter().map(|finding| lines.error(finding)).collect();
        if errors.is_empty() {
            return Ok(());
        }
        Err(ClusterErrors { source: source.map(Path::to_owned), errors })
    }
}

/// The text of the file and where its lines begin.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: [0].into_iter().chain(starts).collect() }
    }

    fn line_start(&self, line: usize) -> usize {
        self.starts.get(line - 1).copied().unwrap_or(self.text.len())
    }

    fn place(&self, offset: usize) -> Place {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|&start| start <= offset);
        Place { line, column: self.text[self.line_start(line)..offset].chars().count() + 1 }
    }

    fn error(&self, finding: Finding) -> ClusterError {
        let place = self.place(finding.span.start);
        let line = self.text[self.line_start(place.line)..].lines().next().unwrap_or_default();
        let end = self.place(finding.span.end.max(finding.span.start));
        let end = if end.line == place.line { end.column } else { line.chars().count() + 1 };
        ClusterError {
            place,
            key: finding.key,
            problem: finding.problem,
            notes: finding.notes.into_iter().map(|(span, text)| (self.place(span.start), text)).collect(),
            line_text: line.into(),
            width: end.saturating_sub(place.column).max(1),
        }
    }
}

impl ClusterErrors {
    /// An error about the file as a whole.
    pub(super) fn of_file(source: &Path, problem: Problem) -> Self {
        let place = Place { line: 0, column: 0 };
        let (key, notes, line_text) = (String::new(), Vec::new(), String::new());
        let error = ClusterError { place, key, problem, notes, line_text, width: 0 };
        Self { source: Some(source.to_owned()), errors: vec![error] }
    }

    fn file(&self) -> String {
        self.source.as_ref().map_or_else(|| "<cluster>".into(), |source| source.display().to_string())
    }
}

impl std::error::Error for ClusterErrors {}

impl fmt::Display for ClusterErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file();
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                write!(formatter, "\n\n")?;
            }
            error.write(&file, formatter)?;
        }
        if self.errors.len() > 1 {
            write!(formatter, "\n\n{} errors in {file}", self.errors.len())?;
        }
        Ok(())
    }
}

impl ClusterError {
    fn write(&self, file: &str, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        let key = if self.key.is_empty() { String::new() } else { format!("{}: ", self.key) };
        if line == 0 {
            return write!(formatter, "{file}: {}\n = help: {}", self.problem, self.problem.help());
        }
        writeln!(formatter, "{file}:{line}:{column}: {key}{}", self.problem)?;
        let margin = " ".repeat(line.to_string().len());
        let (shown, before) = self.shown();
        writeln!(formatter, "{margin} |\n{line} | {shown}")?;
        let marks = self.width.min(SHOWN_MAX.saturating_sub(before)).max(1);
        writeln!(formatter, "{margin} | {}{}", " ".repeat(before), "^".repeat(marks))?;
        for (place, note) in &self.notes {
            writeln!(formatter, "{margin} = note: {file}:{}:{}: {note}", place.line, place.column)?;
        }
        write!(formatter, "{margin} = help: {}", self.problem.help())
    }

    /// The part of the line around the error, and the number of characters before the error in it. Control
    /// characters are replaced, because they must not reach a terminal.
    fn shown(&self) -> (String, usize) {
        let column = self.place.column - 1;
        let skipped = if column > SHOWN_MAX / 2 { column - SHOWN_MAX / 4 } else { 0 };
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        let shown: String = self.line_text.chars().skip(skipped).take(SHOWN_MAX).map(visible).collect();
        (shown.trim_end().to_owned(), column - skipped)
    }
}
