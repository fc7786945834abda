//! Records: a figure with the conditions under which it was measured.

use crate::{
    Machine,
    stats::{PairedRatio, Summary},
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Microseconds per message or operation: less is better.
    #[serde(rename = "us")]
    Microseconds,
    /// 10^6 bytes per second: more is better.
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
    /// 10^6 operations per second, as a benchmark counts them: more is better.
    #[serde(rename = "Mop/s")]
    MegaOperations,
}

impl Unit {
    /// How many times as good `value` is as `reference`: above 1 if better.
    pub fn gain(self, value: f64, reference: f64) -> f64 {
        match self {
            Unit::Microseconds => reference / value,
            Unit::MegabytesPerSecond | Unit::MegaOperations => value / reference,
        }
    }

    /// How many times as good `values` are as `references`, in pairs of repetitions: above 1 if better.
    pub fn paired_gain(self, values: &[f64], references: &[f64]) -> Option<PairedRatio> {
        match self {
            Unit::Microseconds => PairedRatio::of(references, values),
            Unit::MegabytesPerSecond | Unit::MegaOperations => PairedRatio::of(values, references),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Unit::Microseconds => "us",
            Unit::MegabytesPerSecond => "MB/s",
            Unit::MegaOperations => "Mop/s",
        })
    }
}

/// The best that the network itself could do, in the unit of the figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The value, measured in the same run or computed from the line rate.
    pub value: f64,
    /// What gave the value, e.g. `packet-ring ping-pong, 8 bytes`.
    pub of: String,
}

/// One test at one size over one stack on one network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the test; it begins with `raw-` if it was made without MPI.
    pub test: String,
    /// Message size in bytes (0 for a barrier; for `heat` a row of the grid).
    pub bytes: u64,
    /// Number of processes of the program.
    pub ranks: u32,
    /// Number of hosts that they were on.
    pub hosts: u32,
    /// Name of the network.
    pub network: String,
    /// Name of the stack, e.g. `openmpi-4.1`.
    pub stack: String,
    /// Median of all samples, in `unit`.
    pub median: f64,
    /// Tenth percentile.
    pub p10: f64,
    /// Ninetieth percentile.
    pub p90: f64,
    /// The 99.9th percentile, in `unit`, if calls were timed one by one.
    #[serde(default)]
    pub p99_9: Option<f64>,
    /// Unit of the figures.
    pub unit: Unit,
    /// Datapath under the stack: `tcp`, `udp`, `raw` ...
    pub lane: String,
    /// Offloads of the hosts' interfaces during the run, e.g. `off`.
    pub offloads: String,
    /// `root` or `user`.
    pub user: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Number of processors of the machine.
    pub cores: usize,
    /// Processor seconds of both sides together per 10^9 bytes moved; `None` if the test moves no bytes.
    pub cpu_s_per_gb: Option<f64>,
    /// The raw limit of the same network, measured in the same run; `None` if there is no such limit.
    pub ceiling: Option<Ceiling>,
    /// Which data was verified; `None` if the test moves none that could be.
    pub verified: Option<String>,
    /// All samples in `unit`, one per batch.
    pub samples: Vec<f64>,
    /// The median of each repetition, in order, from which ratios of interleaved runs are made.
    pub repetitions: Vec<f64>,
}

/// The point that a record is about, without the figures.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub test: String,
    pub bytes: u64,
    pub ranks: u32,
    pub hosts: u32,
    pub network: String,
    pub stack: String,
    pub unit: Unit,
    pub lane: String,
    pub offloads: String,
    pub verified: Option<String>,
}

/// Samples of one point, gathered repetition by repetition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered {
    pub repetitions: Vec<Vec<f64>>,
    pub cpu_s: f64,
    pub moved_bytes: f64,
}

impl Gathered {
    /// Adds a repetition.
    pub fn add(&mut self, values: Vec<f64>, cpu_s: f64, moved_bytes: f64) {
        self.repetitions.push(values);
        self.cpu_s += cpu_s;
        self.moved_bytes += moved_bytes;
    }

    /// The record; `None` if there is no sample.
    pub fn record(self, point: Point, machine: &Machine) -> Option<Record> {
        let samples: Vec<f64> = self.repetitions.iter().flatten().copied().collect();
        let Summary { median, p10, p90 } = Summary::of(&samples)?;
        let medians = self.repetitions.iter().filter_map(|values| crate::stats::median(values)).collect();
        Some(Record {
            test: point.test,
            bytes: point.bytes,
            ranks: point.ranks,
            hosts: point.hosts,
            network: point.network,
            stack: point.stack,
            median,
            p10,
            p90,
            p99_9: None,
            unit: point.unit,
            lane: point.lane,
            offloads: point.offloads,
            user: machine.user.clone(),
            kernel: machine.kernel.clone(),
            cpu: machine.cpu.clone(),
            cores: machine.cores,
            cpu_s_per_gb: (self.moved_bytes > 0.0).then(|| self.cpu_s / (self.moved_bytes / 1e9)),
            ceiling: None,
            verified: point.verified,
            samples,
            repetitions: medians,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn machine() -> Machine {
        Machine { kernel: "Linux 6.1".into(), cpu: "A".into(), cores: 2, user: "root".into() }
    }

    pub fn point(test: &str, bytes: u64, network: &str, stack: &str) -> Point {
        let unit = if test.ends_with("stream") { Unit::MegabytesPerSecond } else { Unit::Microseconds };
        Point {
            test: test.into(),
            bytes,
            ranks: 4,
            hosts: 4,
            network: network.into(),
            stack: stack.into(),
            unit,
            lane: "tcp".into(),
            offloads: "off".into(),
            verified: Some("every byte".into()),
        }
    }

    pub fn record(point: Point, repetitions: &[&[f64]]) -> Record {
        let repetitions = repetitions.iter().map(|values| values.to_vec()).collect();
        let gathered = Gathered { repetitions, cpu_s: 0.5, moved_bytes: 2e9 };
        match gathered.record(point, &machine()) {
            Some(record) => record,
            None => panic!("no samples"),
        }
    }

    // The documentation promises these keys to readers of the JSON.
    #[test]
    fn json_has_the_promised_keys() {
        let record = record(point("pingpong", 8, "mesh", "a"), &[&[1.0, 2.0, 3.0], &[4.0, 5.0]]);
        let Ok(serde_json::Value::Object(map)) = serde_json::to_value(&record) else { panic!("no object") };
        for key in "test bytes ranks network stack median p10 p90 unit lane offloads user kernel cpu \
            cpu_s_per_gb ceiling samples"
            .split_whitespace()
        {
            assert!(map.contains_key(key), "{key}");
        }
        assert_eq!(map["unit"], "us");
        assert_eq!(map["median"], 3.0);
        assert_eq!(map["cpu_s_per_gb"], 0.25);
        assert_eq!(record.repetitions, [2.0, 4.5]);
    }

    #[test]
    fn gain_is_above_one_if_better() {
        assert_eq!(Unit::Microseconds.gain(5.0, 10.0), 2.0);
        assert_eq!(Unit::MegabytesPerSecond.gain(5.0, 10.0), 0.5);
    }
}
