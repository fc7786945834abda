//! Figures of the kernels: from the runs to records, a table and bar charts.

mod record;
mod table;
#[cfg(test)]
mod tests;

pub use record::{Against, Case, NasRecord, is_break_even};

use super::{Class, Kernel, Outcome, cross, published};
use crate::{
    FailedRun, Machine, Record, Unit, plot,
    record::{Gathered, Point},
    stats::{PairedRatio, median},
};

/// The runs of many cases.
#[derive(Clone, Debug)]
pub struct NasReport {
    machine: Machine,
    cases: Vec<(Case, Vec<Outcome>)>,
    failures: Vec<FailedRun>,
    /// The network that the others are compared with, whichever gave figures first; `None`: that one.
    pub first_network: Option<String>,
    /// Peak of one processor of this machine, million operations per second, if it was measured.
    pub peak_mops: Option<f64>,
    /// The plan was stopped before its end.
    pub interrupted: bool,
}

impl NasReport {
    /// A report without runs.
    pub fn new(machine: Machine) -> Self {
        let (cases, failures) = (Vec::new(), Vec::new());
        Self { machine, cases, failures, first_network: None, peak_mops: None, interrupted: false }
    }

    /// Adds a run that has ended.
    pub fn add(&mut self, case: &Case, outcome: Outcome) {
        match self.cases.iter_mut().find(|(known, _)| known == case) {
            Some((_, outcomes)) => outcomes.push(outcome),
            None => self.cases.push((case.clone(), vec![outcome])),
        }
    }

    /// The cases, each with its runs.
    pub(super) fn cases(&self) -> &[(Case, Vec<Outcome>)] {
        &self.cases
    }

    /// Adds a run that has failed.
    pub fn fail(&mut self, failure: FailedRun) {
        self.failures.push(failure);
    }

    /// The runs that have failed.
    pub fn failures(&self) -> &[FailedRun] {
        &self.failures
    }

    /// Whether every run ended and every result is right.
    pub fn is_good(&self) -> bool {
        self.failures.is_empty() && self.records().iter().all(|record| record.verified)
    }

    /// The records, in the order in which their cases were first run.
    pub fn records(&self) -> Vec<NasRecord> {
        self.cases.iter().filter_map(|(case, outcomes)| self.record(case, outcomes)).collect()
    }

    fn record(&self, case: &Case, outcomes: &[Outcome]) -> Option<NasRecord> {
        let base = self.as_record(case, outcomes)?;
        let of = |value: fn(&Outcome) -> Option<f64>| {
            median(&outcomes.iter().filter_map(value).collect::<Vec<_>>())
        };
        Some(NasRecord {
            test: base.test,
            kernel: case.kernel.to_string(),
            class: case.class.to_string(),
            verified: outcomes.iter().all(|outcome| outcome.verified),
            ranks: base.ranks,
            hosts: base.hosts,
            network: base.network,
            stack: base.stack,
            median: base.median,
            p10: base.p10,
            p90: base.p90,
            unit: base.unit,
            seconds: of(|outcome| Some(outcome.seconds))?,
            cpu_s: of(|outcome| outcome.cpu_s),
            lane: base.lane,
            offloads: base.offloads,
            user: base.user,
            os: base.kernel,
            cpu: base.cpu,
            cores: base.cores,
            speedup: self.alone(case).filter(|_| case.hosts > 1).map(|alone| base.median / alone),
            break_even_bit_s: self.break_even(case),
            against: self.against_first_network(case),
            step: cross::step_before(&case.network).and_then(|before| self.against_network(case, before)),
            published: cross::statements(case.kernel, &case.network)
                .filter(|_| case.hosts > 1)
                .copied()
                .collect(),
            of_peak: self.peak(case).map(|peak| base.median / peak),
            of_dgemm: of(|outcome| outcome.dgemm_mops.map(|dgemm| outcome.mops / dgemm)),
            samples: base.samples,
        })
    }

    /// For Linpack: the peak of all processors that its ranks can use. All hosts share the processors of this
    /// machine.
    fn peak(&self, case: &Case) -> Option<f64> {
        let processors = self.machine.cores.min(case.ranks as usize) as f64;
        self.peak_mops.filter(|_| case.kernel == Kernel::Linpack).map(|one| one * processors)
    }

    fn as_record(&self, case: &Case, outcomes: &[Outcome]) -> Option<Record> {
        let mut gathered = Gathered::default();
        outcomes.iter().for_each(|outcome| gathered.add(vec![outcome.mops], 0.0, 0.0));
        let point = Point {
            test: "nas".into(),
            bytes: 0,
            ranks: case.ranks,
            hosts: case.hosts,
            network: case.network.clone(),
            stack: case.stack.clone(),
            unit: Unit::MegaOperations,
            lane: case.lane.clone(),
            offloads: case.offloads.clone(),
            verified: None,
        };
        gathered.record(point, &self.machine)
    }

    /// The result of one rank on one host with the same stack, on any network.
    fn alone(&self, case: &Case) -> Option<f64> {
        let same = |other: &Case| {
            (other.ranks, other.kernel, other.class, &other.stack)
                == (1, case.kernel, case.class, &case.stack)
        };
        let (_, outcomes) = self.cases.iter().find(|(other, _)| same(other))?;
        median(&outcomes.iter().map(|outcome| outcome.mops).collect::<Vec<_>>())
    }

    fn break_even(&self, case: &Case) -> Option<f64> {
        let computed = case.kernel == Kernel::Is && case.hosts > 1 && case.hosts == case.ranks;
        self.alone(case).filter(|_| computed).map(|alone| is_break_even(alone * 1e6, case.hosts, case.nics))
    }

    /// The ratio of a case to the same case with another stack, from interleaved repetitions.
    pub fn against(&self, case: &Case, stack: &str) -> Option<PairedRatio> {
        self.compare(case, &case.network, stack)
    }

    /// The network that the others are compared with.
    fn first_network(&self) -> Option<&str> {
        let measured = || self.cases.first().map(|(case, _)| case.network.as_str());
        self.first_network.as_deref().or_else(measured)
    }

    /// Compares a case with the same case on the first network.
    fn against_first_network(&self, case: &Case) -> Option<Against> {
        self.against_network(case, self.first_network()?)
    }

    fn against_network(&self, case: &Case, network: &str) -> Option<Against> {
        if network == case.network {
            return None;
        }
        let gain = self.compare(case, network, &case.stack)?;
        let published = published(case.kernel, case.class, &case.network, network)
            .map(|published| (published.gain, published.source))
            .or_else(|| cross::published(case.kernel, &case.network, network));
        Some(Against {
            network: network.to_owned(),
            ratio: gain,
            gain: gain.median,
            low: gain.interval.low,
            high: gain.interval.high,
            decided: gain.is_decided(),
            published: published.map(|(gain, _)| gain),
            source: published.map(|(_, source)| source),
        })
    }

    /// The runs of the same case on a given network and with a given stack.
    pub(super) fn like(&self, case: &Case, network: &str, stack: &str) -> Option<&[Outcome]> {
        let same = |other: &Case| {
            (other.kernel, other.class, other.ranks) == (case.kernel, case.class, case.ranks)
                && (other.network.as_str(), other.stack.as_str()) == (network, stack)
        };
        self.cases.iter().find(|(other, _)| same(other)).map(|(_, outcomes)| outcomes.as_slice())
    }

    /// The ratio of a case to the same case on a given network and with a given stack.
    fn compare(&self, case: &Case, network: &str, stack: &str) -> Option<PairedRatio> {
        let find = |network: &str, stack: &str| self.like(case, network, stack);
        let (own, base) = (find(&case.network, &case.stack)?, find(network, stack)?);
        let mops = |outcomes: &[Outcome]| outcomes.iter().map(|outcome| outcome.mops).collect::<Vec<_>>();
        // A case that failed is not run again, so that the shorter series has the first repetitions.
        PairedRatio::of(&mops(own), &mops(base))
    }

    /// All records as a JSON array.
    pub fn json(&self) -> String {
        // Serialising cannot fail, as records are plain data with string keys.
        serde_json::to_string_pretty(&self.records()).unwrap_or_default()
    }

    /// Bar charts, one per kernel and class: names and SVG texts.
    pub fn charts(&self) -> Result<Vec<(String, String)>, plot::PlotError> {
        let mut names: Vec<(Kernel, Class)> = Vec::new();
        for (case, _) in &self.cases {
            if !names.contains(&(case.kernel, case.class)) {
                names.push((case.kernel, case.class));
            }
        }
        names.into_iter().map(|(kernel, class)| self.chart(kernel, class)).collect()
    }

    fn chart(&self, kernel: Kernel, class: Class) -> Result<(String, String), plot::PlotError> {
        let name = format!("{kernel} {class}");
        let cases = self.cases.iter().filter(|(case, _)| (case.kernel, case.class) == (kernel, class));
        let records: Vec<_> = cases.filter_map(|(case, outcomes)| self.as_record(case, outcomes)).collect();
        let svg = plot::panels(&name, &records.iter().collect::<Vec<_>>())?;
        Ok((name, svg))
    }
}
