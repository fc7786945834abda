//! The report of a plan: records, failures and comparisons.

use crate::{
    Machine, Record, plot,
    stats::PairedRatio,
    table::{self, Against},
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A run that gave no figures. It does not end the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRun {
    /// Name of the network.
    pub network: String,
    /// Name of the stack; `raw` for the peers without MPI.
    pub stack: String,
    /// The tests of the run, as on the program's command line.
    pub tests: String,
    /// Number of the repetition, from 1. In later repetitions this run was left out.
    pub repetition: usize,
    /// Why it failed.
    pub reason: String,
    /// The last lines of standard error of the run.
    pub stderr_tail: String,
}

impl fmt::Display for FailedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { network, stack, tests, repetition, reason, stderr_tail } = self;
        write!(f, "{stack} on {network}, {tests}, repetition {repetition}: {reason}")?;
        stderr_tail.lines().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

/// The text below every table: failures, and whether the measurement was interrupted.
pub fn ending(failures: impl IntoIterator<Item = impl fmt::Display>, interrupted: bool) -> String {
    let mut text: String = failures.into_iter().map(|failure| format!("FAILED {failure}\n")).collect();
    if interrupted {
        text += "stopped before the end of the plan\n";
    }
    text
}

/// How one stack compares with another at one point, from interleaved repetitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the test.
    pub test: String,
    /// Message size in bytes.
    pub bytes: u64,
    /// Number of processes.
    pub ranks: u32,
    /// Name of the network.
    pub network: String,
    /// The stack that is compared.
    pub stack: String,
    /// How many times as good it is as the baseline (above 1: better).
    pub gain: PairedRatio,
}

/// Records of a plan, and what failed.
#[derive(Clone, Debug)]
pub struct Report {
    /// The machine on which it was measured.
    pub machine: Machine,
    /// The figures, in the order of the plan.
    pub records: Vec<Record>,
    /// Runs that failed.
    pub failures: Vec<FailedRun>,
    /// The plan was stopped before its end.
    pub interrupted: bool,
}

impl Report {
    /// A table for a terminal: machine and conditions, figures, failures.
    pub fn table(&self) -> String {
        table::render(self, None)
    }

    /// Like [`Self::table`], with a column that compares every stack with `baseline`.
    pub fn table_against(&self, baseline: &str) -> String {
        let title = format!("against {baseline}");
        let baseline = &|_: &Record| Some(baseline.to_owned());
        table::render(self, Some(&Against { title, baseline, worst_first: false }))
    }

    /// Like [`Self::table`], with a column `title` that compares every record with the stack that `baseline`
    /// names for it.
    pub fn table_against_each(&self, title: &str, baseline: &dyn Fn(&Record) -> Option<String>) -> String {
        table::render(self, Some(&Against { title: title.into(), baseline, worst_first: false }))
    }

    /// Like [`Self::table_against_each`], but the records that compare worst come first: before all those
    /// with fewer repetitions than what they are compared with, as the missing ones failed. Those that are
    /// compared with nothing come last.
    pub fn table_worst_first(&self, title: &str, baseline: &dyn Fn(&Record) -> Option<String>) -> String {
        table::render(self, Some(&Against { title: title.into(), baseline, worst_first: true }))
    }

    /// All records as a JSON array.
    pub fn json(&self) -> String {
        // Serialising cannot fail, as records are plain data with string keys.
        serde_json::to_string_pretty(&self.records).unwrap_or_default()
    }

    /// All records as JSON, one per line.
    pub fn json_lines(&self) -> String {
        self.records
            .iter()
            .filter_map(|record| serde_json::to_string(record).ok())
            .map(|l| l + "\n")
            .collect()
    }

    /// A plot of one test, with one panel per network and one line per stack; `None` if the test has no
    /// records.
    pub fn svg(&self, test: &str) -> Result<Option<String>, plot::PlotError> {
        let records: Vec<&Record> = self.records.iter().filter(|record| record.test == test).collect();
        if records.is_empty() { Ok(None) } else { plot::panels(test, &records).map(Some) }
    }

    /// Names of the tests that have records, in the order of the records.
    pub fn tests(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for record in &self.records {
            if !names.contains(&record.test.as_str()) {
                names.push(&record.test);
            }
        }
        names
    }

    /// Compares every stack with `baseline` at every point where both were measured, in pairs of repetitions.
    pub fn compare(&self, baseline: &str) -> Vec<Comparison> {
        self.records.iter().filter_map(|record| self.comparison(record, baseline)).collect()
    }

    /// What a record is compared with: the record of another stack at the same point.
    pub(crate) fn base(&self, record: &Record, baseline: &str) -> Option<&Record> {
        let is_base = |base: &&Record| base.stack == baseline && same_point(base, record);
        self.records.iter().filter(|_| record.stack != baseline).find(is_base)
    }

    pub(crate) fn comparison(&self, record: &Record, baseline: &str) -> Option<Comparison> {
        let base = self.base(record, baseline)?;
        // A run that failed is not tried again, so that the shorter series has the first repetitions. Tests
        // without MPI are: with different numbers of repetitions pairs would be of different times.
        if record.test.starts_with(RAW) && base.repetitions.len() != record.repetitions.len() {
            return None;
        }
        let gain = record.unit.paired_gain(&record.repetitions, &base.repetitions)?;
        Some(Comparison {
            test: record.test.clone(),
            bytes: record.bytes,
            ranks: record.ranks,
            network: record.network.clone(),
            stack: record.stack.clone(),
            gain,
        })
    }
}

/// Begins the names of tests without MPI.
const RAW: &str = "raw-";

fn same_point(a: &Record, b: &Record) -> bool {
    (a.test.as_str(), a.bytes, a.ranks, a.network.as_str())
        == (b.test.as_str(), b.bytes, b.ranks, b.network.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::{machine, point, record};

    fn report(records: Vec<Record>) -> Report {
        Report { machine: machine(), records, failures: Vec::new(), interrupted: false }
    }

    #[test]
    fn compares_pair_by_pair() {
        let slow = record(point("pingpong", 8, "mesh", "slow"), &[&[10.0], &[20.0], &[30.0]]);
        let fast = record(point("pingpong", 8, "mesh", "fast"), &[&[5.0], &[10.0], &[15.0]]);
        let elsewhere = record(point("pingpong", 8, "star", "fast"), &[&[1.0], &[1.0], &[1.0]]);
        let comparisons = report(vec![slow, fast, elsewhere]).compare("slow");
        assert_eq!(comparisons.len(), 1);
        assert_eq!((comparisons[0].stack.as_str(), comparisons[0].gain.median), ("fast", 2.0));
    }

    #[test]
    fn the_worst_comparison_comes_first_and_what_is_compared_with_nothing_last() {
        let at = |bytes, stack, us: f64| record(point("halo", bytes, "mesh", stack), &[&[us], &[us], &[us]]);
        let all = [(1, 10.0, 10.0), (2, 10.0, 40.0), (3, 10.0, 5.0)];
        let pairs = |(bytes, tcp, tasuki)| [at(bytes, "tcp", tcp), at(bytes, "tasuki", tasuki)];
        let report = report(all.into_iter().flat_map(pairs).collect());
        let text = report.table_worst_first("against tcp", &|_| Some("tcp".into()));
        let rows = text.lines().skip_while(|line| !line.starts_with("bytes"));
        let rows = rows.map(|line| line.split_whitespace().collect::<Vec<_>>());
        let rows = rows.filter(|row| row.first().is_some_and(|bytes| bytes.parse::<u64>().is_ok()));
        let order: Vec<_> = rows.map(|row| format!("{} {}", row[0], row[1])).collect();
        assert_eq!(order, ["2 tasuki", "1 tasuki", "3 tasuki", "1 tcp", "2 tcp", "3 tcp"], "{text}");
    }

    // A machine that becomes slower, and a stack that failed in the last of six repetitions.
    #[test]
    fn the_repetitions_before_a_failure_are_paired() {
        let of =
            |test: &str, stack, repetitions: &[&[f64]]| record(point(test, 8, "mesh", stack), repetitions);
        let all: [&[f64]; 6] = [&[60.0], &[50.0], &[40.0], &[30.0], &[20.0], &[10.0]];
        let comparisons = report(vec![of("stream", "a", &all), of("stream", "b", &all[..5])]).compare("a");
        let gain = comparisons.first().map(|one| (one.gain.median, one.gain.pairs));
        assert_eq!(gain, Some((1.0, 5)));
        // A test without MPI is tried again, so that nobody knows which repetition is missing.
        let raw = report(vec![of("raw-stream", "a", &all), of("raw-stream", "b", &all[1..])]);
        assert!(raw.compare("a").is_empty());
    }

    #[test]
    fn what_failed_in_some_repetition_comes_before_the_worst() {
        let at = |bytes, stack, us: f64, times| {
            record(point("halo", bytes, "mesh", stack), &vec![&[us][..]; times])
        };
        let mut report = report(vec![
            at(1, "tcp", 10.0, 4),
            at(1, "tasuki", 40.0, 4),
            at(2, "tcp", 10.0, 4),
            at(2, "tasuki", 5.0, 3),
        ]);
        let first = |report: &Report| {
            let text = report.table_worst_first("against tcp", &|_| Some("tcp".into()));
            let mut rows = text.lines().filter(|line| line.contains(" tasuki "));
            rows.next().and_then(|row| row.split_whitespace().next().map(str::to_owned))
        };
        assert_eq!(first(&report).as_deref(), Some("2"));
        // The repetition that the user broke off has not failed.
        report.interrupted = true;
        assert_eq!(first(&report).as_deref(), Some("1"));
    }

    #[test]
    fn json_is_an_array_that_reads_back() {
        let records = vec![record(point("stream", 64, "mesh", "a"), &[&[1.5, 2.5]])];
        let report = report(records.clone());
        let back: Vec<Record> = serde_json::from_str(&report.json()).unwrap_or_default();
        assert_eq!(back, records);
        let line: Option<Record> = serde_json::from_str(report.json_lines().trim_end()).ok();
        assert_eq!(line.as_ref(), records.first());
        assert_eq!(report.tests(), ["stream"]);
    }
}
