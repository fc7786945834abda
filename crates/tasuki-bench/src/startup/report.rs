//! Figures of starts: from the runs to records and a table.

use super::{Phases, published};
use crate::{
    FailedRun, Machine, ending,
    figure::significant,
    stats::{PairedRatio, Summary, median},
    table::plain,
};
use comfy_table::{Cell, CellAlignment, Table};
use serde::Serialize;
use std::fmt::Write;

/// A case: what is started several times under the same conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartupCase {
    /// Number of processes.
    pub ranks: u32,
    /// Number of hosts that they are on.
    pub hosts: u32,
    /// Number of rails between two hosts.
    pub rails: usize,
    /// Name of the network.
    pub network: String,
    /// Name of the MPI, and of the transport if that is not the MPI's own.
    pub stack: String,
    /// What carries the messages between hosts.
    pub lane: String,
    /// Offloads of the hosts' interfaces.
    pub offloads: String,
}

/// The figures of one case. In JSON it has the keys of [`crate::Record`] that apply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StartupRecord {
    /// `startup`.
    pub test: &'static str,
    /// Number of processes.
    pub ranks: u32,
    /// Number of hosts that they were on.
    pub hosts: u32,
    /// Number of rails between two hosts.
    pub rails: usize,
    /// Name of the network.
    pub network: String,
    /// Name of the stack.
    pub stack: String,
    /// Time from the launcher's start to its end, median.
    pub median: f64,
    /// Tenth percentile.
    pub p10: f64,
    /// Ninetieth percentile.
    pub p90: f64,
    /// `s`.
    pub unit: &'static str,
    /// Median of this phase, see [`Phases`].
    pub launch_s: f64,
    /// Median of this phase, see [`Phases`].
    pub init_s: f64,
    /// Median of this phase, see [`Phases`].
    pub meeting_s: f64,
    /// Median of this phase, see [`Phases`].
    pub end_s: f64,
    /// Published time for as many nodes and networks (SCore III paper, table 3), seconds.
    pub published: Option<f64>,
    /// What carried the messages.
    pub lane: String,
    /// Offloads of the hosts' interfaces.
    pub offloads: String,
    /// `root` or `user`.
    pub user: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Number of processors of the machine.
    pub cores: usize,
    /// All repetitions, seconds.
    pub samples: Vec<f64>,
}

/// The starts of many cases.
#[derive(Clone, Debug)]
pub struct StartupReport {
    machine: Machine,
    cases: Vec<(StartupCase, Vec<Phases>)>,
    failures: Vec<FailedRun>,
    /// The plan was stopped before its end.
    pub interrupted: bool,
}

impl StartupReport {
    /// A report without starts.
    pub fn new(machine: Machine) -> Self {
        Self { machine, cases: Vec::new(), failures: Vec::new(), interrupted: false }
    }

    /// Adds a start that has succeeded.
    pub fn add(&mut self, case: &StartupCase, phases: Phases) {
        match self.cases.iter_mut().find(|(known, _)| known == case) {
            Some((_, all)) => all.push(phases),
            None => self.cases.push((case.clone(), vec![phases])),
        }
    }

    /// Adds a start that has failed.
    pub fn fail(&mut self, failure: FailedRun) {
        self.failures.push(failure);
    }

    /// Whether every start succeeded.
    pub fn is_good(&self) -> bool {
        self.failures.is_empty()
    }

    /// The records, in the order in which their cases were first run.
    pub fn records(&self) -> Vec<StartupRecord> {
        self.cases.iter().filter_map(|(case, all)| self.record(case, all)).collect()
    }

    fn record(&self, case: &StartupCase, all: &[Phases]) -> Option<StartupRecord> {
        let samples = totals(all);
        let summary = Summary::of(&samples)?;
        let of = |phase: fn(&Phases) -> f64| median(&all.iter().map(phase).collect::<Vec<_>>());
        let Machine { kernel, cpu, cores, user } = self.machine.clone();
        Some(StartupRecord {
            test: "startup",
            ranks: case.ranks,
            hosts: case.hosts,
            rails: case.rails,
            network: case.network.clone(),
            stack: case.stack.clone(),
            median: summary.median,
            p10: summary.p10,
            p90: summary.p90,
            unit: "s",
            launch_s: of(|phases| phases.launch_s)?,
            init_s: of(|phases| phases.init_s)?,
            meeting_s: of(|phases| phases.meeting_s)?,
            end_s: of(|phases| phases.end_s)?,
            published: published(case.hosts, case.rails).filter(|_| case.hosts == case.ranks),
            lane: case.lane.clone(),
            offloads: case.offloads.clone(),
            user,
            kernel,
            cpu,
            cores,
            samples,
        })
    }

    /// How many times as fast a case starts as the same case with another stack, from interleaved
    /// repetitions.
    pub fn against(&self, case: &StartupCase, stack: &str) -> Option<PairedRatio> {
        let find = |stack: &str| {
            let same = |other: &StartupCase| {
                (other.ranks, &other.network, other.stack.as_str()) == (case.ranks, &case.network, stack)
            };
            self.cases.iter().find(|(other, _)| same(other)).map(|(_, all)| totals(all))
        };
        let (own, base) = (find(&case.stack)?, find(stack)?);
        // A start that failed is not tried again, so that the shorter series has the first repetitions.
        PairedRatio::of(&base, &own)
    }

    /// All records as a JSON array.
    pub fn json(&self) -> String {
        // Serialising cannot fail, as records are plain data with string keys.
        serde_json::to_string_pretty(&self.records()).unwrap_or_default()
    }

    /// A table for a terminal; `baseline` names the stack that a stack is compared with.
    pub fn table(&self, baseline: impl Fn(&str) -> Option<String>) -> String {
        let mut text = format!("{}\n", self.machine);
        if !self.cases.is_empty() {
            let _ = writeln!(text, "{}", self.body(&baseline));
            text += "seconds from the launcher's start to its end, and what they are made of: until all \
                     ranks are in main; until all have left MPI_Init; until all have heard from all; until \
                     the launcher has ended. Published: SCore III, table 3, as many nodes of two 933 MHz \
                     processors with as many 100 Mbit/s networks\n";
        }
        text + &ending(&self.failures, self.interrupted)
    }

    fn body(&self, baseline: &impl Fn(&str) -> Option<String>) -> Table {
        let mut table = plain();
        table.set_header([
            "ranks",
            "rails",
            "network",
            "stack",
            "seconds",
            "p10",
            "p90",
            "launch",
            "MPI_Init",
            "meeting",
            "end",
            "published",
            "against its own TCP",
        ]);
        for (case, all) in &self.cases {
            let Some(record) = self.record(case, all) else { continue };
            let gain = baseline(&case.stack).and_then(|stack| self.against(case, &stack));
            table.add_row(row(&record, gain));
        }
        table
    }
}

fn totals(all: &[Phases]) -> Vec<f64> {
    all.iter().map(|phases| phases.total_s()).collect()
}

fn row(record: &StartupRecord, gain: Option<PairedRatio>) -> Vec<Cell> {
    let figure = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let mut cells = vec![
        figure(record.ranks.to_string()),
        figure(record.rails.to_string()),
        Cell::new(&record.network),
        Cell::new(&record.stack),
    ];
    let StartupRecord { median, p10, p90, launch_s, init_s, meeting_s, end_s, .. } = *record;
    cells.extend(
        [median, p10, p90, launch_s, init_s, meeting_s, end_s].map(|value| figure(significant(value))),
    );
    cells.push(figure(record.published.map_or("-".into(), significant)));
    cells.push(Cell::new(gain.map_or("-".into(), |gain| gain.to_string())));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(ranks: u32, rails: usize, stack: &str) -> StartupCase {
        StartupCase {
            ranks,
            hosts: ranks,
            rails,
            network: format!("planes:{ranks}x{rails}"),
            stack: stack.into(),
            lane: "tcp".into(),
            offloads: "off".into(),
        }
    }

    #[test]
    fn starts_are_compared_with_tcp_and_with_the_paper() {
        let machine = Machine { kernel: "Linux 6.1".into(), cpu: "A".into(), cores: 2, user: "root".into() };
        let mut report = StartupReport::new(machine);
        for (stack, init_s) in [("a", 1.0), ("a tasuki", 0.25)] {
            for _ in 0..6 {
                let phases = Phases { launch_s: 0.5, init_s, meeting_s: 0.25, end_s: 0.25 };
                report.add(&case(16, 2, stack), phases);
            }
        }
        // The last start of six failed.
        for (stack, times) in [("b", 6), ("b tasuki", 5)] {
            for at in 0..times {
                let phases = Phases { launch_s: f64::from(at), init_s: 0.5, meeting_s: 0.25, end_s: 0.25 };
                report.add(&case(16, 2, stack), phases);
            }
        }
        let gain = report.against(&case(16, 2, "b tasuki"), "b").map(|gain| (gain.median, gain.pairs));
        assert_eq!(gain, Some((1.0, 5)));
        let records = report.records();
        assert_eq!((records[0].median, records[1].median), (2.0, 1.25));
        assert_eq!(records[0].published, Some(5.48), "SCore III paper, table 3");
        let text = report.table(|stack| stack.strip_suffix(" tasuki").map(str::to_owned));
        for part in ["5.48", "1.60 x (1.60 to 1.60)", "launch"] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        let json: serde_json::Value = serde_json::from_str(&report.json()).expect("JSON");
        assert_eq!((json[1]["init_s"].as_f64(), json[1]["unit"].as_str()), (Some(0.25), Some("s")));
    }
}
