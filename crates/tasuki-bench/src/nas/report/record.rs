//! What is measured of kernels, and the record of its figures.

use super::{Class, Kernel, cross::Statement};
use crate::{Unit, stats::PairedRatio};
use serde::Serialize;
use std::fmt;

/// A case: what is run several times under the same conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The program.
    pub kernel: Kernel,
    /// The size of its problem.
    pub class: Class,
    /// Number of processes.
    pub ranks: u32,
    /// Number of hosts that they are on.
    pub hosts: u32,
    /// Number of NICs of each host (of the one with the fewest).
    pub nics: usize,
    /// Name of the network.
    pub network: String,
    /// Name of the MPI, and of the transport if that is not the MPI's own.
    pub stack: String,
    /// What carries the messages between hosts.
    pub lane: String,
    /// Offloads of the hosts' interfaces.
    pub offloads: String,
}

/// The figures of one case. In JSON it has the keys of [`Record`] that apply, except that `kernel` is the
/// program and `os` the system's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NasRecord {
    /// `nas`.
    pub test: String,
    /// The program: IS, CG ...
    pub kernel: String,
    /// The class of its problem.
    pub class: String,
    /// Whether all runs agree with the published result.
    pub verified: bool,
    /// Number of processes.
    pub ranks: u32,
    /// Number of hosts that they were on.
    pub hosts: u32,
    /// Name of the network.
    pub network: String,
    /// Name of the stack.
    pub stack: String,
    /// Median of the repetitions, in `unit`.
    pub median: f64,
    /// Tenth percentile.
    pub p10: f64,
    /// Ninetieth percentile.
    pub p90: f64,
    /// The unit: million operations per second of all ranks together.
    pub unit: Unit,
    /// Time of the slowest rank, median, seconds.
    pub seconds: f64,
    /// Processor time of all ranks, median, seconds; `None` if the program does not say.
    pub cpu_s: Option<f64>,
    /// What carried the messages.
    pub lane: String,
    /// Offloads of the hosts' interfaces.
    pub offloads: String,
    /// `root` or `user`.
    pub user: String,
    /// Kernel release of the system.
    pub os: String,
    /// Processor model.
    pub cpu: String,
    /// Number of processors of the machine.
    pub cores: usize,
    /// How many times as fast it is as one rank on one host with the same stack; `None` if that was not
    /// measured.
    pub speedup: Option<f64>,
    /// Computed rate of a NIC's link above which this number of hosts, each with a processor of its own,
    /// beats one host; bit/s (IS only, see [`is_break_even`]).
    pub break_even_bit_s: Option<f64>,
    /// Comparison with the first network; `None` on that network itself.
    pub against: Option<Against>,
    /// On the networks of the cross-connection paper: comparison with the one that differs in one thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Against>,
    /// On the networks of the cross-connection paper: all that the paper says of this kernel there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Statement>,
    /// For Linpack: share of the processors' peak ([`super::NasReport::peak_mops`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_peak: Option<f64>,
    /// For Linpack: share of the rate that the ranks reach in products of matrices without messages, median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_dgemm: Option<f64>,
    /// All repetitions in `unit`.
    pub samples: Vec<f64>,
}

/// A comparison of a case with the same case on another network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// The other network.
    pub network: String,
    /// The ratio of the operations per second, which is printed.
    #[serde(skip)]
    pub ratio: PairedRatio,
    /// How many times as many operations per second it makes: median of the pairs of repetitions.
    pub gain: f64,
    /// Lower end of the interval for 95 %, or the smallest ratio if there are too few pairs for that.
    pub low: f64,
    /// Upper end of this interval.
    pub high: f64,
    /// Whether the interval lies wholly on one side of 1, so that one network is better.
    pub decided: bool,
    /// The gain that a paper published for the same cablings, kernel and class; on the networks of the
    /// cross-connection paper for any class.
    pub published: Option<f64>,
    /// The paper, and the machines of its measurement.
    pub source: Option<&'static str>,
}

impl fmt::Display for Against {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.ratio, f)
    }
}

/// The rate of a NIC's link in bit/s above which `hosts` hosts with `nics` NICs each beat one host at IS, if
/// one host ranks `alone` keys per second.
///
/// An iteration on N keys takes `N / alone` on one host. Each of p hosts ranks N/p keys, and sends p - 1 of p
/// equal parts of them, four bytes a key, over all its NICs together: 4 N (p - 1) / p^2 bytes. Counts and
/// sums are a few KB. Messages do not overlap with computation, as ranking needs all keys. So p hosts win if
/// `N / (p alone) + 8 f 4 N (p - 1) / (p^2 nics rate) < N / alone`, which does not depend on N; f is the
/// factor by which frames exceed their payload.
pub fn is_break_even(alone: f64, hosts: u32, nics: usize) -> f64 {
    // An Ethernet frame of MTU 1500 takes 1538 byte times on the wire, 1448 of them payload of TCP with
    // timestamps.
    const FRAMES: f64 = 1538.0 / 1448.0;
    8.0 * FRAMES * 4.0 * alone / (f64::from(hosts) * nics.max(1) as f64)
}
