//! Progress bars, tables and JSON on a terminal.

use crate::output::{in_a_line, visible_json};
use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    fmt,
    ops::{Deref, DerefMut},
    time::Duration,
};

/// A progress bar on standard error that counts pieces of work. It is silent if standard error is not a
/// terminal.
pub fn progress_bar(total: u64) -> ProgressBar {
    bar(total, "{prefix:>10} [{bar:30}] {pos}/{len} {msg} {elapsed}")
}

/// Like [`progress_bar`], but shows percent, for work that does not come in pieces.
pub fn percent_bar(total: u64) -> ProgressBar {
    bar(total, "{prefix:>10} [{bar:30}] {percent} % {msg} {elapsed}")
}

fn bar(total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A table for people. Whatever text a cell holds, it stays in its row, and a terminal does not obey it.
pub struct Rows(Table);

impl Rows {
    /// Adds a row.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item = impl ToString>) -> &mut Self {
        self.0.add_row(cells.into_iter().map(|cell| in_a_line(&cell.to_string()).into_owned()));
        self
    }
}

impl Deref for Rows {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.0
    }
}

impl DerefMut for Rows {
    fn deref_mut(&mut self) -> &mut Table {
        &mut self.0
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A table with these column names.
pub fn table<const N: usize>(header: [&str; N]) -> Rows {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.map(in_a_line));
    Rows(table)
}

/// Prints a value as JSON on one line of standard output.
pub fn print_json_line<T: serde::Serialize>(value: &T) -> Result<(), crate::failure::Failure> {
    println!("{}", visible_json(&serde_json::to_string(value)?));
    Ok(())
}

/// Prints a value as JSON on standard output.
pub fn print_json<T: serde::Serialize>(value: &T) -> Result<(), crate::failure::Failure> {
    println!("{}", visible_json(&serde_json::to_string_pretty(value)?));
    Ok(())
}
