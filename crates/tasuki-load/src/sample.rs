//! What one host says of itself at one time: counters, and states.

use serde::{Deserialize, Serialize};
use tasuki_ring::stats_page::Snapshot;

/// The processors of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Processors {
    /// Number of processors that are on line.
    pub count: u32,
    /// Time since boot that they spent on anything, all together, nanoseconds.
    pub busy_ns: u64,
    /// Time since boot that they spent at all, likewise.
    pub all_ns: u64,
    /// Processes that ran or wanted to, averaged over a minute.
    pub load: f64,
}

/// The memory of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// All of it, bytes.
    pub total: u64,
    /// What programs could still get without swapping, bytes (`MemAvailable` of proc_meminfo(5)).
    pub available: u64,
}

/// One NIC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicSample {
    /// Interface name.
    pub name: String,
    /// Whether it is up and has a signal from the other end.
    pub up: bool,
    /// Whether it is a device of its own, not one that software makes (a bridge, a VLAN).
    pub device: bool,
    /// Line rate that its driver states, bit/s.
    pub bits_per_second: Option<u64>,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Frames received.
    pub received_frames: u64,
    /// Frames sent.
    pub sent_frames: u64,
    /// Frames that were damaged, at either end (`rx_errors` and `tx_errors` of if_link.h).
    pub errors: u64,
    /// Frames for which there was no room, at either end (`rx_dropped`, `rx_missed_errors` and `tx_dropped`).
    pub dropped: u64,
}

/// One process that uses Tasuki.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSample {
    /// Its statistics page.
    pub page: Snapshot,
    /// The job of the resident runtime that it belongs to; `None`: none, or its environment cannot be read.
    pub job: Option<String>,
    /// How many ranks its job has, if its launcher says so in its environment.
    pub ranks: Option<u32>,
    /// Processor time that it has used, nanoseconds; `None`: unknown.
    pub cpu_ns: Option<u64>,
    /// Its memory, bytes.
    pub memory: Option<u64>,
}

/// What the host's `tasuki watch` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchSample {
    /// Rails by which no hellos come, anywhere in the cluster, as `n1:eth1 - n2:eth1`.
    pub dead: Vec<String>,
    /// Hosts to which this host's route is not the planned one, each with the hosts that it leads by.
    pub detours: Vec<(String, Vec<String>)>,
}

/// A host at one time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSample {
    /// When it was taken, nanoseconds since the host's agent began.
    pub at_ns: u64,
    /// Its processors.
    pub processors: Processors,
    /// Its memory.
    pub memory: Memory,
    /// Temperature of its hottest sensor, degrees Celsius; `None`: it has none.
    pub celsius: Option<f32>,
    /// Its NICs: all Ethernet interfaces.
    pub nics: Vec<NicSample>,
    /// Its processes that use Tasuki.
    pub processes: Vec<ProcessSample>,
    /// What its `tasuki watch` says; `None`: none runs.
    #[serde(default)]
    pub watch: Option<WatchSample>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
}
