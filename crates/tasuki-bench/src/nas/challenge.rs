//! Figures of hpcc besides Linpack, network by network: transposing a matrix, random updates of the memory, a
//! Fourier transform, and messages around a ring.

use super::{Case, Kernel, NasReport, Outcome, cross};
use crate::{
    stats::{PairedRatio, Summary},
    table::{plain, with_spread},
};
use comfy_table::{Cell, CellAlignment};
use serde::Serialize;

/// A figure of hpcc's summary.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name in the summary.
    pub key: &'static str,
    /// Its name in tables.
    pub name: &'static str,
    /// The unit of tables. The value of the summary times `factor` is in this unit.
    pub unit: &'static str,
    factor: f64,
    /// Whether it is a time, so that less is better.
    is_time: bool,
}

const fn rate(key: &'static str, name: &'static str, unit: &'static str, factor: f64) -> Figure {
    Figure { key, name, unit, factor, is_time: false }
}

/// The figures that depend on messages between hosts.
pub const FIGURES: [Figure; 8] = [
    rate("HPL_Tflops", "HPL", "GFLOP/s", 1e3),
    rate("PTRANS_GBs", "PTRANS", "MB/s", 1e3),
    rate("MPIRandomAccess_GUPs", "RandomAccess", "million updates/s", 1e3),
    rate("MPIFFT_Gflops", "FFT", "GFLOP/s", 1.0),
    rate("NaturallyOrderedRingBandwidth_GBytes", "ring, natural", "MB/s", 1e3),
    rate("RandomlyOrderedRingBandwidth_GBytes", "ring, random", "MB/s", 1e3),
    Figure { is_time: true, ..rate("NaturallyOrderedRingLatency_usec", "ring, natural, latency", "us", 1.0) },
    Figure { is_time: true, ..rate("RandomlyOrderedRingLatency_usec", "ring, random, latency", "us", 1.0) },
];

/// A figure of one case.
#[derive(Clone, Debug, Serialize)]
pub struct ChallengeRecord {
    /// Name of the figure.
    pub figure: &'static str,
    /// The unit of the values.
    pub unit: &'static str,
    /// The class of Linpack in the same run.
    pub class: String,
    /// Number of hosts.
    pub hosts: u32,
    /// Name of the network.
    pub network: String,
    /// Name of the stack.
    pub stack: String,
    /// Median and spread of the repetitions.
    #[serde(flatten)]
    pub summary: Summary,
    /// How many times as good it is as on the network (a), as text.
    pub against: Option<String>,
    /// How many times as good it is as on the network that differs in one thing, as text.
    pub step: Option<String>,
}

/// All figures of all runs of hpcc, one after the other.
pub fn records(report: &NasReport) -> Vec<ChallengeRecord> {
    let cases = || report.cases().iter().filter(|(case, _)| case.kernel == Kernel::Linpack);
    let of =
        |figure: &'static Figure| cases().filter_map(move |(case, runs)| record(report, figure, case, runs));
    FIGURES.iter().flat_map(of).collect()
}

/// The values of a figure, with the numbers of the runs that have it.
fn values(figure: &Figure, runs: &[Outcome]) -> Vec<(usize, f64)> {
    let value = |run: &Outcome| run.challenge.get(figure.key).map(|value| value * figure.factor);
    runs.iter().enumerate().filter_map(|(at, run)| Some((at, value(run)?))).collect()
}

fn record(
    report: &NasReport,
    figure: &'static Figure,
    case: &Case,
    runs: &[Outcome],
) -> Option<ChallengeRecord> {
    let own = values(figure, runs);
    // One rank alone has no ring, so that the figures of the ring are 0 or less.
    let all: Vec<f64> = own.iter().map(|(_, value)| *value).collect();
    let summary = Summary::of(&all).filter(|summary| summary.median > 0.0)?;
    let against = |network: &str| {
        let base = values(figure, report.like(case, network, &case.stack)?);
        let is_other = network != case.network && case.hosts > 1;
        let (of, by) = if figure.is_time { (&base, &own) } else { (&own, &base) };
        let ratio = is_other.then(|| PairedRatio::of_repetitions(of, by))??;
        Some(ratio.to_string())
    };
    Some(ChallengeRecord {
        figure: figure.name,
        unit: figure.unit,
        class: case.class.to_string(),
        hosts: case.hosts,
        network: case.network.clone(),
        stack: case.stack.clone(),
        summary,
        against: against(cross::SWITCH),
        step: cross::step_before(&case.network).and_then(against),
    })
}

/// All figures as a table for a terminal; empty if hpcc was not among the programs.
pub fn table(report: &NasReport) -> String {
    let records = records(report);
    if records.is_empty() {
        return String::new();
    }
    let mut table = plain();
    table.set_header(["hpcc", "class", "network", "stack", "median (p10 to p90)", "of (a)", "of step"]);
    let mut before = "";
    for record in &records {
        let name = format!("{}, {}", record.figure, record.unit);
        table.add_row([
            Cell::new(if record.figure == before { String::new() } else { name }),
            Cell::new(&record.class),
            Cell::new(if record.hosts == 1 { cross::ONE_HOST } else { &record.network }),
            Cell::new(&record.stack),
            Cell::new(with_spread(&record.summary)).set_alignment(CellAlignment::Right),
            Cell::new(record.against.as_deref().unwrap_or("-")),
            Cell::new(record.step.as_deref().unwrap_or("-")),
        ]);
        before = record.figure;
    }
    format!("\n{table}\nAll that hpcc verifies held. Latency: times as good is times as short.\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Machine, hpcc,
        nas::{Class, linpack},
    };

    /// The judged output of a real run of hpcc on four ranks, with the order of the matrix and two figures
    /// replaced.
    fn run(transposed: f64, latency: f64) -> Outcome {
        let mut judged = hpcc::Outcome::of(include_str!("../../tests/data/hpccoutf.txt"), 4);
        for (key, value) in
            [("HPL_N", 960.0), ("PTRANS_GBs", transposed), ("NaturallyOrderedRingLatency_usec", latency)]
        {
            judged.figures.insert(key.into(), value);
        }
        linpack::outcome(Class::S, 4, &judged).expect("figures")
    }

    #[test]
    fn more_bytes_and_shorter_waits_are_better() {
        let machine = Machine { kernel: "Linux 6.1".into(), cpu: "A".into(), cores: 2, user: "root".into() };
        let mut report = NasReport::new(machine);
        let networks = [(cross::SWITCH, 1, 0.01, 80.0), (cross::CABLES, 3, 0.03, 40.0)];
        for (network, nics, transposed, latency) in networks {
            let case = Case {
                kernel: Kernel::Linpack,
                class: Class::S,
                ranks: 4,
                hosts: 4,
                nics,
                network: network.into(),
                stack: "openmpi-4.1".into(),
                lane: "tcp".into(),
                offloads: "off".into(),
            };
            for _ in 0..3 {
                report.add(&case, run(transposed, latency));
            }
        }
        let records = records(&report);
        assert_eq!(records.len(), FIGURES.len() * 2);
        let of = |figure: &str| records.iter().filter(|record| record.figure == figure).collect::<Vec<_>>();
        let [switch, cables] = of("PTRANS")[..] else { panic!("{records:?}") };
        assert_eq!((switch.summary.median, switch.unit, switch.against.as_ref()), (10.0, "MB/s", None));
        assert!(cables.step.as_ref().is_some_and(|gain| gain.starts_with("3.00 x")), "{cables:?}");
        let latency = of("ring, natural, latency")[1];
        assert!(latency.against.as_ref().is_some_and(|gain| gain.starts_with("2.00 x")), "{latency:?}");
        assert!(table(&report).contains("PTRANS, MB/s"));
    }
}
