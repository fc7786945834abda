//! What people see while they wait, and tables.

use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// A progress bar on standard error; silent where that is not a terminal.
pub fn progress_bar(total: u64) -> ProgressBar {
    bar(total, "{prefix:>10} [{bar:30}] {pos}/{len} {msg} {elapsed}")
}

/// The same for what is not counted in pieces.
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

/// A table with these column names.
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    table
}

/// Prints a value as JSON on standard output.
pub fn print_json<T: serde::Serialize>(value: &T) -> Result<(), crate::failure::Failure> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}
