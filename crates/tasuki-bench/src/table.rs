//! The table of records for a terminal.

use crate::{
    Record, Report, ending,
    figure::significant,
    stats::{PairedRatio, Summary},
};
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, Table, TableComponent, Width, presets,
};
use std::fmt::Write;

/// What every record is compared with: the title of the column, and the stack.
pub(crate) struct Against<'a> {
    pub title: String,
    pub baseline: &'a dyn Fn(&Record) -> Option<String>,
    /// Whether the records that compare worst come first, and those that are compared with nothing last.
    pub worst_first: bool,
}

pub(crate) fn render(report: &Report, against: Option<&Against<'_>>) -> String {
    let mut text = format!("{}\n", report.machine);
    for (network, offloads) in networks(&report.records) {
        let _ = writeln!(text, "network {network}: offloads {offloads}");
    }
    if !report.records.is_empty() {
        text += &body(report, against);
        text += "of ceiling: 100 % is the raw limit of the same network in the same run (see `ceiling` in \
                 the JSON)\n";
    }
    text + &ending(&report.failures, report.interrupted)
}

fn networks(records: &[Record]) -> Vec<(&str, &str)> {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for record in records {
        let network = (record.network.as_str(), record.offloads.as_str());
        if !seen.contains(&network) {
            seen.push(network);
        }
    }
    seen
}

/// Widest table, in columns of a terminal.
const WIDTH: u16 = 100;

/// Names of stacks that are longer than this are broken where there is no room: those of variants.
const STACK_MAX: usize = 23;

/// A record, and how it compares.
type Row<'a> = (&'a Record, Option<PairedRatio>);

/// The records in tables of their own for each test, network and number of ranks.
fn body(report: &Report, against: Option<&Against<'_>>) -> String {
    let baseline = |record: &Record| against.and_then(|against| (against.baseline)(record));
    let compared = |record| {
        let gain = baseline(record).and_then(|name| report.comparison(record, &name));
        (record, gain.map(|found| found.gain))
    };
    let mut rows: Vec<Row<'_>> = sorted(&report.records).into_iter().map(compared).collect();
    if against.is_some_and(|against| against.worst_first) {
        let order = |(record, gain): &Row<'_>| match baseline(record) {
            Some(name) if has_failed(report, record, &name) => f64::NEG_INFINITY,
            _ => gain.as_ref().map_or(f64::INFINITY, |gain| gain.median),
        };
        rows.sort_by(|a, b| order(a).total_cmp(&order(b)));
    }
    let tails = report.records.iter().any(|record| record.p99_9.is_some());
    let percentiles = if tails { ["p90", "p99.9"] } else { ["p10", "p90"] };
    let mut header = vec!["bytes", "stack", "median", percentiles[0], percentiles[1]];
    header.extend(["of\nceiling", "CPU\ns/GB"]);
    header.extend(against.map(|against| against.title.as_str()));
    let cells = |(record, gain): &Row<'_>| cells(record, tails, against.is_some(), gain.as_ref());
    let all: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let mut text = String::new();
    for title in titles(&rows) {
        let mut table = plain();
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
        table.set_header(&header);
        let group = rows.iter().zip(&all).filter(|((record, _), _)| heading(record) == title);
        group.for_each(|(_, cells)| _ = table.add_row(cells));
        align(&mut table, &all, against.is_some());
        let _ = writeln!(text, "\n{title}\n{table}");
    }
    text
}

/// Whether a record lacks repetitions that what it is compared with has. Where the user ended the
/// measurement, the last one is missing without a failure.
fn has_failed(report: &Report, record: &Record, baseline: &str) -> bool {
    let broken_off = usize::from(report.interrupted);
    let base = report.base(record, baseline);
    base.is_some_and(|base| record.repetitions.len() + broken_off < base.repetitions.len())
}

/// What stands above the table of a record.
fn heading(record: &Record) -> String {
    let Record { test, network, ranks, unit, .. } = record;
    format!("{test}, {network}, {ranks} ranks, {unit}")
}

/// All headings, in the order of the rows.
fn titles(rows: &[Row<'_>]) -> Vec<String> {
    let mut titles: Vec<String> = Vec::new();
    for title in rows.iter().map(|(record, _)| heading(record)) {
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    titles
}

/// Gives the columns of one of several tables the same widths as in the others, as far as there is room, and
/// puts figures to the right.
fn align(table: &mut Table, all: &[Vec<String>], compare: bool) {
    const STACK: usize = 1;
    let last = table.column_count().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        // One space separates columns already.
        column.set_padding((0, 1));
        let widest = all.iter().filter_map(|cells| cells.get(index)).map(|cell| cell.chars().count()).max();
        let widest = widest.unwrap_or(0).min(if index == STACK { STACK_MAX } else { usize::from(WIDTH) });
        let width = u16::try_from(widest).unwrap_or(WIDTH) + column.padding_width();
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
        if index != STACK && !(compare && index == last) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// An empty table with a line below its head.
pub(crate) fn plain() -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .remove_style(TableComponent::HorizontalLines)
        .remove_style(TableComponent::MiddleIntersections);
    table
}

/// An empty table with a head and without any lines.
pub(crate) fn borderless<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.into_iter().collect::<Vec<_>>());
    table
}

/// The records, sorted such that stacks to compare come below each other.
fn sorted(records: &[Record]) -> Vec<&Record> {
    let order = |name: &str, of: fn(&Record) -> &str| records.iter().position(|r| of(r) == name);
    let mut rows: Vec<&Record> = records.iter().collect();
    rows.sort_by_key(|r| (order(&r.test, |r| &r.test), order(&r.network, |r| &r.network), r.ranks, r.bytes));
    rows
}

/// The cells of a record.
fn cells(record: &Record, tails: bool, compare: bool, gain: Option<&PairedRatio>) -> Vec<String> {
    let share = record.ceiling.as_ref().map(|c| record.unit.gain(record.median, c.value));
    let mut cells = vec![record.bytes.to_string(), stack_and_lane(record)];
    cells.push(significant(record.median));
    if tails {
        cells.extend([significant(record.p90), record.p99_9.map_or("-".into(), significant)]);
    } else {
        cells.extend([record.p10, record.p90].map(significant));
    }
    cells.push(share.map_or("-".into(), |share| format!("{:.0} %", share * 100.0)));
    cells.push(record.cpu_s_per_gb.map_or("-".into(), significant));
    if compare {
        cells.push(gain.map_or("-".into(), |gain| gain.to_string()));
    }
    cells
}

/// The stack, and what carries its messages if its name does not say that.
fn stack_and_lane(record: &Record) -> String {
    match record.stack.split(' ').any(|word| word == record.lane) {
        true => record.stack.clone(),
        false => format!("{} {}", record.stack, record.lane),
    }
}

/// A figure as in `1.85 (1.70 to 2.01)`: the median, and the tenth and the ninetieth percentile.
pub(crate) fn with_spread(of: &Summary) -> String {
    format!("{} ({} to {})", significant(of.median), significant(of.p10), significant(of.p90))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Ceiling, FailedRun,
        record::tests::{machine, point, record},
    };

    #[test]
    fn figures_have_three_digits() {
        for (value, text) in [
            (0.012345, "0.0123"),
            (1.0, "1.00"),
            (9.876, "9.88"),
            (117.68, "118"),
            (12345.6, "12346"),
            (0.0, "0"),
        ] {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn a_table_states_conditions_ceiling_gain_and_failures() {
        let repetitions: Vec<[f64; 1]> = (0..6).map(|i| [10.0 + f64::from(i)]).collect();
        let halves: Vec<[f64; 1]> = repetitions.iter().map(|v| [v[0] / 2.0]).collect();
        let slices = |values: &'static str, of: &[[f64; 1]]| {
            let slices: Vec<&[f64]> = of.iter().map(|v| v.as_slice()).collect();
            record(point("pingpong", 8, "mesh", values), &slices)
        };
        let (slow, mut fast) = (slices("slow", &repetitions), slices("fast", &halves));
        fast.ceiling = Some(Ceiling { value: fast.median / 4.0, of: "packet-ring".into() });
        let failure = FailedRun {
            network: "mesh".into(),
            stack: "bad".into(),
            tests: "pingpong:8".into(),
            repetition: 1,
            reason: "exit code 1".into(),
            stderr_tail: "no route".into(),
        };
        let report = Report {
            machine: machine(),
            records: vec![slow, fast],
            failures: vec![failure],
            interrupted: false,
        };
        let text = report.table_against("slow");
        for part in ["2 x A, Linux 6.1, as root", "network mesh: offloads off", "25 %", "0.250", "12.5"] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(text.contains("2.00 x (2.00 to 2.00)") && !text.contains('?'), "{text}");
        assert!(
            text.contains("FAILED bad on mesh, pingpong:8, repetition 1: exit code 1\n    no route"),
            "{text}"
        );
    }

    /// The widest figures that measurements of real stacks have had, with every column there is.
    #[test]
    fn tables_fit_a_hundred_columns_and_line_up() {
        let repetitions: Vec<[f64; 3]> = (0..6).map(|i| [99_999.0 + f64::from(i), 1.0, 99_999.0]).collect();
        let slices: Vec<&[f64]> = repetitions.iter().map(|one| one.as_slice()).collect();
        let stacks = ["openmpi-4.1.4", "impi-2021.18.1 tasuki TASUKI_BULK=frames", "openmpi-4.1.4 tasuki"];
        let lane = |stack: &str| if stack.contains("tasuki") { "tasuki" } else { "tcp" };
        let mut records = Vec::new();
        for (test, bytes) in [("pingpong", 8), ("pingpong", 16_777_216), ("allreduce", 8)] {
            for stack in stacks {
                let mut record = record(point(test, bytes, "mesh", stack), &slices);
                (record.lane, record.p99_9) = (lane(stack).into(), Some(123_456.0));
                record.ceiling = Some(Ceiling { value: record.median, of: "packet-ring".into() });
                records.push(record);
            }
        }
        let report = Report { machine: machine(), records, failures: Vec::new(), interrupted: false };
        let title = "against its own TCP; variants: against Tasuki";
        let text = report.table_against_each(title, &|_| Some("openmpi-4.1.4".into()));
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 100).collect();
        assert!(wide.is_empty(), "{text}");
        let at: std::collections::BTreeSet<_> =
            text.lines().filter_map(|line| line.find("openmpi-4.1.4 tcp")).collect();
        assert_eq!(at.len(), 1, "both tables have their columns at the same places\n{text}");
        for heading in ["pingpong, mesh, 4 ranks, us\n", "allreduce, mesh, 4 ranks, us\n"] {
            assert_eq!(text.matches(heading).count(), 1, "{text}");
        }
    }
}
