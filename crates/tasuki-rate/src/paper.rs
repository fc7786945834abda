//! What the paper states: Ooi, Osawa, Yuba, "Improvement of MPI data transfer throughput on an ATM
//! workstation cluster", sections 5 and 6.

use crate::{Receiver, Static};

/// User data that an ATM connection of its cluster carries, bit/s (section 5).
pub const LINK_BPS: f64 = 135.63e6;

/// Length of a burst in the paper's measurement of R, bytes (section 6.1); it made [`BURSTS`] of them.
pub const BURST_BYTES: u64 = 2_000_000;
/// Bursts of one measurement of R.
pub const BURSTS: u32 = 1000;

/// A kind of host of the paper's cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// `SS5` or `SS20`.
    pub name: &'static str,
    /// R as measured, and B. The paper's "KB" are KiB: with kB not all cells of table 1 come out.
    pub receiver: Receiver,
    /// The host's column of table 1, Mbit/s.
    pub table1_mbps: [u32; 10],
}

/// Both kinds of hosts.
pub const HOSTS: [Host; 2] = [
    Host {
        name: "SS5",
        receiver: Receiver { drain_bps: 52e6, buffer_bytes: 64 << 10 },
        table1_mbps: [60, 56, 54, 54, 53, 53, 53, 53, 53, 53],
    },
    Host {
        name: "SS20",
        receiver: Receiver { drain_bps: 101e6, buffer_bytes: 128 << 10 },
        // Equation (2) gives 137, which is above the link's rate; such messages are sent at the link's rate.
        table1_mbps: [137, 116, 111, 108, 107, 106, 105, 104, 104, 104],
    },
];

/// Lengths of the messages of table 1, bytes.
pub const TABLE1_BYTES: [u64; 10] = [
    500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000, 3_500_000, 4_000_000, 4_500_000,
    5_000_000,
];

impl Host {
    /// The paper's way to send to such a host.
    pub fn sending(&self) -> Static {
        Static { receiver: self.receiver, link_bps: LINK_BPS }
    }
}
