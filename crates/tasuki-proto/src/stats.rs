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

/// State of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RailState {
    /// One of the two ends does not have this rail.
    Off,
    /// Not tried yet: a reply to a probe is needed first.
    Unproven,
    /// In use: may carry data.
    Up,
    /// Not in use, because it did not answer while others did; probed from time to time.
    Down,
}

/// Counters and estimates of one path of a connection. Bytes are those of whole packets, headers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RailStats {
    /// Rail and lane.
    pub path: Path,
    /// State of the rail.
    pub state: RailState,
    /// Whether this side's NIC has a carrier, as far as is known.
    pub carrier: bool,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets received, duplicates not counted.
    pub received_packets: u64,
    /// Bytes received, duplicates not counted.
    pub received_bytes: u64,
    /// Positions sent again, bytes: those of a Data frame are its payload bytes; a Start or a control frame
    /// counts as one.
    pub resent_bytes: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Packets that were declared lost and acknowledged later.
    pub spurious_losses: u64,
    /// Probe time-outs.
    pub pto_count: u64,
    /// Smoothed round trip, ns; 0 if never measured.
    pub srtt_ns: u64,
    /// Smallest round trip of the last ten seconds or so, ns; 0 if never measured.
    pub min_rtt_ns: u64,
    /// Estimated rate, bytes per second.
    pub rate: u64,
    /// Congestion window, bytes.
    pub window: u64,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Largest packet that is known to pass, bytes.
    pub packet_len: usize,
}
