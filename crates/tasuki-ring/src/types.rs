//! What a segment is made with, and what it gives.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Token;
use crate::layout::LINE;
use crate::map::Map;
use crate::segment::Lane;

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

/// A record still in shared memory.
pub struct Record<'a> {
    pub(crate) map: &'a Map,
    pub(crate) offset: usize,
    pub(crate) len: usize,
}

impl Record<'_> {
    /// Length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a length, not a container")]
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Copies `into.len()` bytes from `offset` on; false (and nothing copied) if the record is shorter. A faulty sender may change the
    /// bytes meanwhile: copy once, then check.
    #[inline]
    pub fn copy_to(&self, offset: usize, into: &mut [u8]) -> bool {
        let fits = offset <= self.len && into.len() <= self.len - offset;
        if fits {
            self.map.copy_out(self.offset + offset, into);
        }
        fits
    }
}

/// Bytes of a record that takes one line of the cache, at most.
pub const SHORT: usize = LINE - 8;

/// What [`crate::Segment::peek`] has seen.
pub enum Peek {
    /// Nothing waits.
    Nothing,
    /// A record.
    Found(Found),
    /// Something else, perhaps nothing: [`crate::Segment::receive`] knows.
    Other,
}

/// Where a record waits. Good until something else is done with the segment.
#[derive(Clone, Copy)]
pub struct Found {
    /// Place of its sender among the active ones.
    pub(crate) at: usize,
    /// Its place in the segment, and the word that is there.
    pub(crate) place: usize,
    pub(crate) word: u64,
}

/// A record in one line of the cache, still in shared memory: what is read twice may have changed in between.
pub struct LineRecord<'a> {
    pub(crate) words: &'a [AtomicU64; LINE / 8],
    pub(crate) slot: Slot,
    pub(crate) len: usize,
    pub(crate) lane: &'a mut Lane,
    pub(crate) tail: &'a AtomicU64,
    pub(crate) stats: &'a mut SegmentStats,
}

/// The words of a [`LineRecord`].
#[derive(Clone, Copy)]
pub struct LineWords<'a>(&'a [AtomicU64; LINE / 8]);

impl LineWords<'_> {
    /// A private copy.
    pub fn copy(self) -> [u8; SHORT] {
        let mut bytes = [0; SHORT];
        for (word, place) in self.0[1..].iter().zip(bytes.chunks_exact_mut(8)) {
            place.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        bytes
    }
}

impl LineRecord<'_> {
    /// Its sender.
    #[inline(always)]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Its length, bytes.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "a number of bytes, not a collection")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// One of its seven words; what is behind its length is arbitrary.
    #[inline(always)]
    pub fn word(&self, index: usize) -> u64 {
        self.words[1 + index].load(Ordering::Relaxed)
    }

    /// Where it begins. Another process may write there, although it must not: fit for raw copies of up to [`SHORT`] bytes.
    #[inline(always)]
    pub fn as_ptr(&self) -> *const u8 {
        self.words[1..].as_ptr().cast()
    }

    /// Its seven words.
    #[inline(always)]
    pub fn words(&self) -> LineWords<'_> {
        LineWords(self.words)
    }

    /// It has been read: its sender may use its place again.
    #[inline(always)]
    pub fn consume(self) {
        self.lane.idle_visits = 0;
        self.lane.position += LINE as u64;
        // Release: it has been read before the sender may write there again.
        self.tail.store(self.lane.position, Ordering::Release);
        self.stats.records += 1;
        self.stats.bytes += self.len as u64;
    }
}
