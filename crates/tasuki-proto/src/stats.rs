//! Counters and estimates, for statistics pages and watchdogs.

use tasuki_wire::{DropReason, Path};

/// Packets dropped, by reason.
#[derive(Clone, Debug)]
pub struct Drops([u64; DropReason::COUNT]);

impl Drops {
    pub(crate) const fn new() -> Drops {
        Drops([0; DropReason::COUNT])
    }

    pub(crate) fn count(&mut self, reason: DropReason) {
        self.0[reason.index()] += 1;
    }

    /// Packets dropped for this reason.
    pub fn get(&self, reason: DropReason) -> u64 {
        self.0[reason.index()]
    }

    /// Packets dropped.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// All reasons with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.iter().map(|reason| (*reason, self.get(*reason)))
    }
}

/// What a path is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RailState {
    /// One of the ends says that it is not there.
    Off,
    /// Not tried yet: waits for the reply to a probe.
    Unproven,
    /// Carries data.
    Up,
    /// Does not answer, while others do; probed now and then.
    Down,
}

/// One path of a connection. Bytes are those of whole packets, headers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RailStats {
    /// Rail and lane.
    pub path: Path,
    /// What it is good for.
    pub state: RailState,
    /// Nothing says that the own NIC has no carrier.
    pub carrier: bool,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets received, duplicates not counted.
    pub received_packets: u64,
    /// Bytes received, duplicates not counted.
    pub received_bytes: u64,
    /// Payload and control positions sent again, bytes (a control frame or start counts its payload, at least one).
    pub resent_bytes: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Of those, acknowledged after all.
    pub spurious_losses: u64,
    /// Probe time-outs.
    pub pto_count: u64,
    /// Smoothed round trip, ns; 0 if never measured.
    pub srtt_ns: u64,
    /// Smallest round trip of late, ns; 0 if never measured.
    pub min_rtt_ns: u64,
    /// Estimated rate, bytes per second.
    pub rate: u64,
    /// Congestion window, bytes.
    pub window: u64,
    /// Bytes under way.
    pub in_flight: u64,
    /// Largest packet that is known to pass, bytes.
    pub packet_len: usize,
}
