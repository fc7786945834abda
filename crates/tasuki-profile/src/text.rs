//! The profile on a terminal.

use std::fmt::Write;

use tasuki_terminal::{bytes, counted, lines, table};

use crate::profile::{Profile, Region, Share};

/// Rows of each table; JSON and the page have more.
const ROWS: usize = 10;
/// Columns: that a terminal has them is not known, as the text comes from another host.
const COLUMNS: usize = 80;

/// Characters of a name.
const NAME: usize = 26;

/// The profile as text of 80 columns.
pub fn print(profile: &Profile) -> String {
    let said = format!("tasuki omp: {}", head(profile));
    let mut text = format!("\n{}", lines(&said, COLUMNS).join("\n"));
    let _ = write!(text, "\n\n{}", regions(&profile.regions));
    if !profile.lines.is_empty() {
        let _ = write!(text, "\n\n{}", of_lines(profile));
        let _ = write!(text, "\n\n{}", arrays(profile));
    }
    if !profile.advice.is_empty() {
        text.push_str("\n\nWhat would help, and the time of all threads that it is about:");
        for advice in &profile.advice {
            let said = format!("{}: {}", advice.about, advice.text);
            let said = lines(&said, COLUMNS - 12).join(&format!("\n{:12}", ""));
            let _ = write!(text, "\n{:>8} s  {said}", seconds(advice.seconds));
        }
    }
    if profile.untold > 0 {
        let _ = write!(text, "\n{} faults more were at places that are not told apart.", profile.untold);
    }
    // Names are the program's.
    tasuki_terminal::visible(&(text + "\n")).into_owned()
}

/// The profile in one sentence.
pub(crate) fn head(profile: &Profile) -> String {
    let inside: f64 = parallel(profile).map(|region| region.seconds).sum();
    let times: u64 = parallel(profile).map(|region| region.times).sum();
    format!(
        "{} ran for {} s on {} with {} each, of which {} s in {}. There threads waited for pages for {} of \
         their time, at barriers for {}, for locks for {}.",
        profile.program,
        seconds(profile.seconds),
        counted(profile.processes, "process", "es"),
        counted(profile.threads as usize, "thread", "s"),
        seconds(inside),
        counted(times as usize, "parallel region", "s"),
        percent(profile.waits.pages),
        percent(profile.waits.barriers),
        percent(profile.waits.locks),
    )
}

fn parallel(profile: &Profile) -> impl Iterator<Item = &Region> {
    profile.regions.iter().filter(|region| region.place.is_some())
}

fn regions(regions: &[Region]) -> String {
    let mut rows = table(["region", "times", "s", "pages", "barriers", "locks"]);
    for region in regions.iter().take(ROWS) {
        let place = short(region.place.as_deref().unwrap_or("between regions"));
        let Share { pages, barriers, locks } = region.waits;
        let waits = [pages, barriers, locks].map(percent);
        let figures = [region.times.to_string(), seconds(region.seconds)];
        rows.add_row([place].into_iter().chain(figures).chain(waits));
    }
    rows.right_from(1).text(Some(COLUMNS)) + &left_out(regions.len(), "regions")
}

fn of_lines(profile: &Profile) -> String {
    let mut rows = table(["line", "of", "does", "waits", "s"]);
    for line in profile.lines.iter().take(ROWS) {
        let does = if line.writes { "writes" } else { "reads" };
        let cells = [short(&line.place), short(&line.array), does.to_owned()];
        rows.add_row(cells.into_iter().chain([line.faults.to_string(), seconds(line.seconds)]));
    }
    rows.right_from(3).text(Some(COLUMNS)) + &left_out(profile.lines.len(), "lines")
}

fn arrays(profile: &Profile) -> String {
    let mut rows = table(["memory", "size", "why pages move", "pages", "early", "waits", "s"]);
    for array in profile.arrays.iter().take(ROWS) {
        for (index, pages) in array.pages.iter().enumerate() {
            let name = if index == 0 { [short(&array.name), bytes(array.bytes)] } else { Default::default() };
            let counts = [pages.pages, pages.early, pages.faults].map(|count| count.to_string());
            let why = [pages.why.word().to_owned()];
            rows.add_row(name.into_iter().chain(why).chain(counts).chain([seconds(pages.seconds)]));
        }
    }
    rows.right_from(3).text(Some(COLUMNS)) + &left_out(profile.arrays.len(), "arrays")
}

fn left_out(all: usize, what: &str) -> String {
    if all > ROWS { format!("\n ... and {} {what} more", all - ROWS) } else { String::new() }
}

/// A name that leaves room for the figures beside it: those of C++ can be very long.
fn short(name: &str) -> String {
    if name.chars().count() <= NAME {
        name.to_owned()
    } else {
        name.chars().take(NAME - 3).collect::<String>() + "..."
    }
}

/// Seconds with three digits or so.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        _ if seconds < 9.9995 => format!("{seconds:.3}"),
        _ if seconds < 999.95 => format!("{seconds:.1}"),
        _ => format!("{seconds:.0}"),
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
