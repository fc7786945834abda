//! The table of records for a terminal.

use crate::{
    Record, Report, ending,
    figure::significant,
    stats::{PairedRatio, Summary},
};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, TableComponent, presets};
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

fn body(report: &Report, against: Option<&Against<'_>>) -> String {
    let mut table = plain();
    let tails = report.records.iter().any(|record| record.p99_9.is_some());
    let mut header = vec!["test", "bytes", "ranks", "network", "stack", "lane", "median", "p10", "p90"];
    header.extend(tails.then_some("p99.9"));
    header.extend(["unit", "of ceiling", "CPU s/GB"]);
    header.extend(against.map(|against| against.title.as_str()));
    table.set_header(header);
    let compared = |record| {
        let baseline = against.and_then(|against| (against.baseline)(record));
        let gain = baseline.and_then(|name| report.comparison(record, &name)).map(|found| found.gain);
        (record, gain)
    };
    let mut rows: Vec<_> = sorted(&report.records).into_iter().map(compared).collect();
    if against.is_some_and(|against| against.worst_first) {
        let gain = |gain: &Option<PairedRatio>| gain.as_ref().map_or(f64::INFINITY, |gain| gain.median);
        rows.sort_by(|(_, a), (_, b)| gain(a).total_cmp(&gain(b)));
    }
    for (record, gain) in rows {
        table.add_row(row(record, tails, against.is_some(), gain));
    }
    format!("{table}\n")
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

fn row(record: &Record, tails: bool, compare: bool, gain: Option<PairedRatio>) -> Vec<Cell> {
    let word = |text: &str| Cell::new(text);
    let figure = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let share = record.ceiling.as_ref().map(|c| record.unit.gain(record.median, c.value));
    let mut cells = vec![
        word(&record.test),
        figure(record.bytes.to_string()),
        figure(record.ranks.to_string()),
        word(&record.network),
        word(&record.stack),
        word(&record.lane),
        figure(significant(record.median)),
        figure(significant(record.p10)),
        figure(significant(record.p90)),
    ];
    if tails {
        cells.push(figure(record.p99_9.map_or("-".into(), significant)));
    }
    cells.extend([
        word(&record.unit.to_string()),
        figure(share.map_or("-".into(), |share| format!("{:.0} %", share * 100.0))),
        figure(record.cpu_s_per_gb.map_or("-".into(), significant)),
    ]);
    if compare {
        cells.push(word(&gain.map_or("-".into(), |gain| gain.to_string())));
    }
    cells
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
}
