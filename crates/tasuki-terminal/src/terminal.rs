//! Progress bars, paragraphs and JSON on a terminal.

use crate::{
    output::{put, visible, visible_json, written},
    table::lines,
};
use clap::builder::styling::AnsiColor;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::{fmt, io::Write as _, time::Duration};

/// Texts are no wider than so many columns, however wide the terminal is.
pub const TEXT_COLUMNS: usize = 110;
/// A terminal that says that it has fewer columns does not know its size.
const COLUMNS_MIN: usize = 20;

/// A progress bar on standard error that counts pieces of work. It is silent if standard error is not a
/// terminal.
pub fn progress_bar(total: u64) -> ProgressBar {
    bar(total, "{prefix:>10} [{bar:30}] {pos}/{len} {msg} {elapsed}{left}")
}

/// Like [`progress_bar`], but shows percent, for work that does not come in pieces.
pub fn percent_bar(total: u64) -> ProgressBar {
    bar(total, "{prefix:>10} [{bar:30}] {percent} % {msg} {elapsed}{left}")
}

fn bar(total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("=> ").with_key("left", left));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Writes how long the rest of a bar's work will take, once some of it is done.
fn left(state: &ProgressState, text: &mut dyn fmt::Write) {
    if state.pos() > 0 && state.len().is_some_and(|all| state.pos() < all) {
        // Writing into a text cannot fail.
        let _ = write!(text, ", about {:#} left", HumanDuration(state.eta()));
    }
}

/// Number of columns of the terminal that standard output is; `None`: it is none, or has no size.
pub fn width() -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some(usize::from(columns)).filter(|columns| *columns >= COLUMNS_MIN)
}

/// A text, broken between words into lines that fit the terminal, the first of which begins in column
/// `indent` and the others are indented by as many blanks. Where there is no terminal it stays one line,
/// which other programs can search.
pub fn paragraph(text: &str, indent: usize) -> String {
    let width = width().map_or(usize::MAX, |width| width.min(TEXT_COLUMNS));
    lines(text, width.saturating_sub(indent).max(COLUMNS_MIN)).join(&format!("\n{:indent$}", ""))
}

/// A number with its noun, which has this ending if it is not one: `2 switches`.
pub fn counted(count: usize, noun: &str, ending: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { ending })
}

/// What a verdict means, which gives its word a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is as it should be.
    Well,
    /// It works, but should be looked at.
    Doubtful,
    /// Something is wrong.
    Bad,
}

/// Prints a line that begins with `before` and the word of a verdict. The word has a colour on terminals that
/// have colours, unless NO_COLOR is set (anstream decides); the rest passes [`visible`] as everything does.
pub fn print_verdict(verdict: Verdict, before: &str, word: &str, after: &str) {
    let colour = match verdict {
        Verdict::Well => AnsiColor::Green,
        Verdict::Doubtful => AnsiColor::Yellow,
        Verdict::Bad => AnsiColor::Red,
    };
    let style = colour.on_default().bold();
    let (before, word, after) = (visible(before), visible(word), visible(after));
    put(|_| writeln!(anstream::stdout(), "{before}{style}{word}{style:#}{after}"));
}

/// Prints a value as JSON on one line of standard output.
pub fn print_json_line<T: serde::Serialize>(value: &T) -> Result<(), crate::failure::Failure> {
    println!("{}", visible_json(&serde_json::to_string(value)?));
    written()
}

/// Prints a value as JSON on standard output.
pub fn print_json<T: serde::Serialize>(value: &T) -> Result<(), crate::failure::Failure> {
    println!("{}", visible_json(&serde_json::to_string_pretty(value)?));
    written()
}
