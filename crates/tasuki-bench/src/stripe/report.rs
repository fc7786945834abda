//! Results of striped streams as JSON, a table and plots.

mod charts;
mod table;
#[cfg(test)]
mod tests;

use super::{Cabling, Published, Spreading, published};
use crate::{
    Machine,
    ethernet::{Framing, wire_bytes},
    raw::{Side, Streamed},
    stats::{PairedRatio, Summary},
};
use serde::{Serialize, Serializer};
use std::fmt;

/// A case: one point of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Case {
    /// How the hosts are connected.
    pub cabling: Cabling,
    /// How the stream was spread.
    #[serde(rename = "way")]
    pub spreading: Spreading,
    /// Number of NICs of each host.
    pub nics: u32,
    /// Length of a message, bytes.
    pub bytes: u32,
    /// Number of connections at once.
    pub streams: u32,
    /// MTU of the NICs, bytes.
    pub mtu: u32,
    /// Rate of each NIC, bit/s.
    pub rate_bps: u64,
    /// Share of a processor that the process of each side could use, per cent; `None` if it could use all of
    /// it.
    pub quota_percent: Option<f64>,
}

impl Case {
    /// The best that TCP with timestamps could bring over these NICs, bytes per second.
    pub fn line_bytes_per_second(&self) -> f64 {
        let share = Framing::tcp(self.mtu.into(), true)
            .map_or(0.0, |framing| framing.payload_bytes as f64 / wire_bytes(framing.frame_bytes) as f64);
        self.rate_bps as f64 / 8.0 * f64::from(self.nics) * share
    }

    /// The case with one NIC that this one is compared with.
    fn alone(&self) -> Self {
        Self { spreading: Spreading::One, nics: 1, ..*self }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cabling, spreading, nics, bytes, .. } = self;
        let cpu = if self.quota_percent.is_some() { "slow" } else { "fast" };
        write!(f, "{cabling}, {spreading}, {nics} NICs, {bytes} bytes, {cpu}")
    }
}

/// A repetition of a case that gave no figure.
#[derive(Clone, Debug, Serialize)]
pub struct FailedCase {
    /// The case.
    pub case: Case,
    /// Number of the repetition, from 1.
    pub repetition: usize,
    /// Why it failed.
    pub reason: String,
}

impl fmt::Display for FailedCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, repetition, reason } = self;
        write!(f, "{case}, repetition {repetition}: {reason}")
    }
}

/// The results of a case.
#[derive(Clone, Debug, Serialize)]
pub struct StripeRecord {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// The result of each repetition, in order.
    #[serde(serialize_with = "with_figures")]
    pub samples: Vec<Streamed>,
}

/// Processor time of one side, medians in per cent of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Use {
    /// Time of its process.
    pub process: f64,
    /// Time in which its processor was busy with any process; `None` if the side has no processor of its own.
    pub core: Option<f64>,
}

impl StripeRecord {
    /// Bytes per second of each repetition.
    pub fn rates(&self) -> Vec<f64> {
        self.samples.iter().map(Streamed::bytes_per_second).collect()
    }

    /// Median and spread of a figure over the repetitions.
    pub fn summary(&self, figure: impl Fn(&Streamed) -> f64) -> Option<Summary> {
        Summary::of(&self.samples.iter().map(figure).collect::<Vec<_>>())
    }

    fn of_side(&self, side: impl Fn(&Streamed) -> &Side) -> Option<Use> {
        let process = self.summary(|sample| 100.0 * side(sample).process)?.median;
        let all_have = self.samples.iter().all(|sample| side(sample).core.is_some());
        let core = self.summary(|sample| 100.0 * side(sample).core.unwrap_or(0.0));
        Some(Use { process, core: core.filter(|_| all_have).map(|core| core.median) })
    }
}

/// Serialises samples together with the figures that follow from them.
fn with_figures<S: Serializer>(samples: &[Streamed], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Sample<'a> {
        bytes_per_second: f64,
        out_of_order: f64,
        resent: f64,
        fairness: f64,
        #[serde(flatten)]
        sample: &'a Streamed,
    }
    serializer.collect_seq(samples.iter().map(|sample| Sample {
        bytes_per_second: sample.bytes_per_second(),
        out_of_order: sample.out_of_order(),
        resent: sample.resent(),
        fairness: sample.fairness(),
        sample,
    }))
}

/// The results of one measurement.
#[derive(Clone, Debug, Serialize)]
pub struct StripeReport {
    /// The machine on which it was measured.
    pub machine: Machine,
    /// The cases, in the order in which they were first measured.
    pub records: Vec<StripeRecord>,
    /// Repetitions of cases that gave no figure.
    pub failures: Vec<FailedCase>,
    /// What a reader must know of the conditions.
    pub notes: Vec<String>,
    /// Whether the measurement was stopped before its end.
    pub interrupted: bool,
}

/// A record with the figures that follow from it and from other records.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    record: &'a StripeRecord,
    mb_per_s: Option<Summary>,
    of_line: Option<f64>,
    against_one_nic: Option<PairedRatio>,
    sender_percent: Option<Use>,
    receiver_percent: Option<Use>,
    out_of_order_percent: Option<Summary>,
    resent_percent: Option<Summary>,
    fairness: Option<Summary>,
    published: Option<Published>,
}

impl StripeReport {
    /// A report without results.
    pub fn new(machine: Machine) -> Self {
        let (records, failures, notes) = (Vec::new(), Vec::new(), Vec::new());
        Self { machine, records, failures, notes, interrupted: false }
    }

    /// Adds a repetition of a case.
    pub fn add(&mut self, case: Case, sample: Streamed) {
        match self.records.iter_mut().find(|record| record.case == case) {
            Some(record) => record.samples.push(sample),
            None => self.records.push(StripeRecord { case, samples: vec![sample] }),
        }
    }

    /// The ratio of a case to the one with one NIC, in the same repetitions.
    pub fn against_one_nic(&self, record: &StripeRecord) -> Option<PairedRatio> {
        let alone = self.records.iter().find(|other| other.case == record.case.alone())?;
        (record.case != alone.case).then(|| PairedRatio::of(&record.rates(), &alone.rates()))?
    }

    fn row<'a>(&self, record: &'a StripeRecord) -> Row<'a> {
        let mb_per_s = record.summary(|sample| sample.bytes_per_second() / 1e6);
        Row {
            record,
            mb_per_s,
            of_line: mb_per_s.map(|rate| rate.median * 1e6 / record.case.line_bytes_per_second()),
            against_one_nic: self.against_one_nic(record),
            sender_percent: record.of_side(|sample| &sample.sender),
            receiver_percent: record.of_side(|sample| &sample.receiver),
            out_of_order_percent: record.summary(|sample| 100.0 * sample.out_of_order()),
            resent_percent: record.summary(|sample| 100.0 * sample.resent()),
            fairness: (record.case.streams > 1).then(|| record.summary(Streamed::fairness)).flatten(),
            published: published(&record.case),
        }
    }

    /// All results as indented JSON: machine, records with all samples, failures.
    pub fn json(&self) -> serde_json::Result<String> {
        let records: Vec<_> = self.records.iter().map(|record| self.row(record)).collect();
        serde_json::to_string_pretty(&serde_json::json!({
            "machine": self.machine,
            "records": records,
            "failures": self.failures,
            "notes": self.notes,
            "interrupted": self.interrupted,
        }))
    }
}
