//! The receiver's end.

use crate::{RingError, Token};

/// How to make a segment.
#[derive(Clone, Copy, Debug)]
pub struct SegmentOptions {
    /// Its name.
    pub token: Token,
    /// Size of each sender's ring in bytes (default 64 KiB); rounded up to a power of two. The largest record is a little under half of it.
    /// Memory is used by senders that really open one.
    pub ring_bytes: usize,
    /// How many senders can have a ring at once (default 512).
    pub max_peers: usize,
}

impl SegmentOptions {
    /// Defaults for `token`.
    pub fn new(token: Token) -> SegmentOptions {
        SegmentOptions { token, ring_bytes: 64 << 10, max_peers: 512 }
    }
}

/// One sender as its receiver sees it. A slot that is given to a new sender is a new `Slot` with the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl Slot {
    /// Dense, below `max_peers`.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// What the visitor of a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The record is done with; go on.
    Consumed,
    /// The record is done with; end this visit.
    Last,
    /// The record is NOT taken, it comes again at the next visit; end this visit.
    Stop,
}

/// Why a slot was given up by [`Segment::reap`] or during receiving.
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

/// This endpoint's inbox.
pub struct Segment {
    token: Token,
}

/// A record still in shared memory.
pub struct Record<'a> {
    bytes: &'a [u8],
}

impl Record<'_> {
    /// Length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a length, not a container")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Copies `into.len()` bytes from `offset` on; false (and nothing copied) if the record is shorter.
    pub fn copy_to(&self, offset: usize, into: &mut [u8]) -> bool {
        let _ = (offset, into);
        todo!()
    }
}

impl Segment {
    /// Makes the segment, removes those of dead processes, and allows other processes to read this one's memory (for `Cma`).
    pub fn create(options: &SegmentOptions) -> Result<Segment, RingError> {
        let _ = options;
        todo!()
    }

    /// Its name.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Visits up to `budget` records, in order per sender, each copied into private memory first. Returns how many were taken.
    pub fn receive(&mut self, budget: usize, each: impl FnMut(Slot, &[u8]) -> Verdict) -> usize {
        let _ = (budget, each);
        todo!()
    }

    /// As [`Segment::receive`], without the private copy: for payload that goes straight to its place.
    pub fn receive_raw(&mut self, budget: usize, each: impl FnMut(Slot, &Record<'_>) -> Verdict) -> usize {
        let _ = (budget, each);
        todo!()
    }

    /// Who the sender in `slot` said it is; None once it has gone.
    pub fn sender(&self, slot: Slot) -> Option<Token> {
        let _ = slot;
        todo!()
    }

    /// Whether nothing waits.
    pub fn idle(&self) -> bool {
        todo!()
    }

    /// Looks after senders that have closed or died (one system call per sender: call it about once per second) and reports each once.
    pub fn reap(&mut self, each: impl FnMut(Slot, Token, Departure)) {
        let _ = each;
        todo!()
    }

    /// Counters.
    pub fn stats(&self) -> SegmentStats {
        todo!()
    }
}
