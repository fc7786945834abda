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

    /// Like [`Self::table_against_each`], but the records that compare worst come first, and those that are
    /// compared with nothing last.
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

    pub(crate) fn comparison(&self, record: &Record, baseline: &str) -> Option<Comparison> {
        if record.stack == baseline {
            return None;
        }
        let base = self.records.iter().find(|base| base.stack == baseline && same_point(base, record))?;
        // With different numbers of repetitions, pairs would consist of runs at different times.
        if base.repetitions.len() != record.repetitions.len() {
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

    #[test]
    fn unequal_repetitions_are_not_paired() {
        let a = record(point("stream", 8, "mesh", "a"), &[&[10.0], &[20.0]]);
        let b = record(point("stream", 8, "mesh", "b"), &[&[10.0]]);
        assert!(report(vec![a, b]).compare("a").is_empty());
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
