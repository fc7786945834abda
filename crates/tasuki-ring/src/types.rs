//! What a segment is made with, and small types that it gives.

use crate::Token;

/// How to make a segment.
#[derive(Clone, Copy, Debug)]
pub struct SegmentOptions {
    /// The segment's name.
    pub token: Token,
    /// Size of each sender's ring in bytes (default 64 KiB), rounded up to a power of two. The largest record
    /// is a little under half of it. Only senders that really open a ring use memory for one.
    pub ring_bytes: usize,
    /// How many senders can have a ring at the same time (default 512).
    pub max_peers: usize,
}

impl SegmentOptions {
    /// The default sizes, for a segment named `token`.
    pub fn new(token: Token) -> SegmentOptions {
        SegmentOptions { token, ring_bytes: 64 << 10, max_peers: 512 }
    }
}

/// One sender as its receiver sees it. A slot that is given to a new sender is a new `Slot` with the old
/// index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Slot {
    /// The slot's number: dense, below `max_peers`.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// What the visitor of a record says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The record is done with; go on.
    Consumed,
    /// The record is done with; end this visit.
    Last,
    /// The record is NOT taken and comes again at the next visit; end this visit.
    Stop,
}

/// Why a slot was given up by [`crate::Segment::reap`] or during receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The sender closed its outbox, and all that it sent has been received.
    Closed,
    /// The sender's process is gone, and all that it sent has been received.
    Died,
    /// The ring's contents are corrupt: nothing more is read from it.
    Corrupt,
}

/// Counters of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentStats {
    /// Records received.
    pub records: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Senders that have come.
    pub arrived: u64,
    /// Senders that have gone.
    pub departed: u64,
    /// Slots shut because of corrupt contents.
    pub corrupt: u64,
}
