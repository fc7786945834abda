//! A test with streams of messages, and its result.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A test with streams of messages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamTest {
    /// Multipath TCP instead of TCP.
    pub mptcp: bool,
    /// Number of connections at once.
    pub streams: u32,
    /// Length of a message, which is one call of the sender; bytes.
    pub bytes: u32,
    /// Time to count, seconds.
    pub seconds: f64,
    /// Time before counting, seconds.
    pub warm_up_s: f64,
}

/// The counters of one side over the time in which it counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Length of that time, seconds.
    pub seconds: f64,
    /// Processor time of the process as a share of that time; 1 is one processor. It includes interrupts that
    /// the kernel handles for others while the process runs.
    pub process: f64,
    /// Share of that time in which the side's processor was not idle, whichever process ran; `None` if the
    /// side has no processor of its own.
    pub core: Option<f64>,
    /// Share of that time in which the side's processor handled interrupts, where the kernel receives
    /// packets; `None` like [`Self::core`].
    pub interrupts: Option<f64>,
    /// Number of segments with data sent (Multipath TCP: all segments).
    pub data_out: u64,
    /// Number of segments sent again.
    pub resent: u64,
    /// Number of segments with data received (Multipath TCP: all segments).
    pub data_in: u64,
    /// Number of segments received out of order.
    pub out_of_order: u64,
    /// Bytes of all frames that each interface received in that time, by the name of the interface.
    pub received_by: BTreeMap<String, u64>,
}

/// The result of a [`StreamTest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Streamed {
    /// The test.
    pub test: StreamTest,
    /// Payload that each connection brought while the receiver counted, bytes.
    pub received_bytes: Vec<u64>,
    /// The side that sends.
    pub sender: Side,
    /// The side that receives.
    pub receiver: Side,
}

impl Streamed {
    /// Payload received over all connections together, bytes per second.
    pub fn bytes_per_second(&self) -> f64 {
        self.received_bytes.iter().sum::<u64>() as f64 / self.receiver.seconds.max(1e-9)
    }

    /// Jain's fairness index of the n connections: 1 if all brought the same, 1/n if one brought all.
    pub fn fairness(&self) -> f64 {
        let of =
            |power: i32| self.received_bytes.iter().map(|&bytes| (bytes as f64).powi(power)).sum::<f64>();
        let squares = of(2) * self.received_bytes.len() as f64;
        if squares > 0.0 { of(1).powi(2) / squares } else { 0.0 }
    }

    /// Share of the segments received that were out of order.
    pub fn out_of_order(&self) -> f64 {
        self.receiver.out_of_order as f64 / self.receiver.data_in.max(1) as f64
    }

    /// Share of the segments sent that were sent again.
    pub fn resent(&self) -> f64 {
        self.sender.resent as f64 / self.sender.data_out.max(1) as f64
    }
}
