//! Records that have been received and are still in shared memory.

use crate::lane::Lane;
use crate::layout::{LINE, footprint};
use crate::map::Map;
use crate::sync::{AtomicU64, Ordering};
use crate::{SegmentStats, Slot};

/// A record of any length, still in shared memory.
pub struct Record<'a> {
    pub(crate) map: &'a Map,
    /// Where its payload begins in the segment.
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

    /// Copies `into.len()` bytes of the record, from its byte `offset` on. Returns false, and copies nothing,
    /// if the record is shorter than that. A faulty sender may change the bytes meanwhile, so copy each of
    /// them once and check the copy.
    #[inline]
    pub fn copy_to(&self, offset: usize, into: &mut [u8]) -> bool {
        let fits = offset <= self.len && into.len() <= self.len - offset;
        if fits {
            self.map.copy_out(self.offset + offset, into);
        }
        fits
    }
}

/// A record of any length that was found and has not been taken yet.
pub struct FoundRecord<'a> {
    pub(crate) record: Record<'a>,
    pub(crate) slot: Slot,
    pub(crate) lane: &'a mut Lane,
    /// The word that tells the sender how far the receiver has come.
    pub(crate) tail: &'a AtomicU64,
    /// Place of the lane whose turn was last, and that of this one.
    pub(crate) turn: (&'a mut usize, usize),
    pub(crate) stats: &'a mut SegmentStats,
}

impl<'a> FoundRecord<'a> {
    /// The record's sender.
    #[inline(always)]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// The record itself.
    #[inline(always)]
    pub fn record(&self) -> &Record<'a> {
        &self.record
    }

    /// Ends the reading of the record: its sender may use its place again.
    #[inline(always)]
    pub fn consume(self) {
        self.lane.idle_visits = 0;
        self.lane.position += footprint(self.record.len) as u64;
        // Release: the record has been read before the sender may write there again.
        self.tail.store(self.lane.position, Ordering::Release);
        *self.turn.0 = self.turn.1;
        self.stats.records += 1;
        self.stats.bytes += self.record.len as u64;
    }
}

/// What [`crate::Segment::peek`] has seen.
pub enum Peek {
    /// No record waits.
    Nothing,
    /// A record waits.
    Found(Found),
    /// Something else may have happened, perhaps nothing: [`crate::Segment::receive`] finds out.
    Other,
}

/// Where a record waits. It is valid until something else is done with the segment.
#[derive(Clone, Copy)]
pub struct Found {
    /// Place of its sender's lane among the active ones.
    pub(crate) at: usize,
    /// Offset of its header word in the segment.
    pub(crate) place: usize,
    /// The header word that was there.
    pub(crate) word: u64,
}

/// A record that takes one cache line, still in shared memory. A word that is read twice may have changed in
/// between.
pub struct LineRecord<'a> {
    pub(crate) words: &'a [AtomicU64; LINE / 8],
    pub(crate) slot: Slot,
    pub(crate) len: usize,
    pub(crate) lane: &'a mut Lane,
    /// The word that tells the sender how far the receiver has come.
    pub(crate) tail: &'a AtomicU64,
    pub(crate) stats: &'a mut SegmentStats,
    /// The segment, and where the payload begins there.
    pub(crate) place: (&'a Map, usize),
}

impl LineRecord<'_> {
    /// The record's sender.
    #[inline(always)]
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// The record's length in bytes.
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "a number of bytes, not a collection")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// One of the seven words of payload, `index` 0 to 6. Bytes beyond the record's length are arbitrary.
    #[inline(always)]
    pub fn word(&self, index: usize) -> u64 {
        self.words[1 + index].load(Ordering::Relaxed)
    }

    /// Where the payload begins. Another process may write there, although it must not, so the pointer is
    /// only fit for raw copies, of up to [`crate::SHORT`] bytes.
    #[inline(always)]
    pub fn as_ptr(&self) -> *const u8 {
        self.words[1..].as_ptr().cast()
    }

    /// This record, as one of any length.
    pub fn record(&self) -> Record<'_> {
        Record { map: self.place.0, offset: self.place.1, len: self.len }
    }

    /// Ends the reading of the record: its sender may use its place again.
    #[inline(always)]
    pub fn consume(self) {
        self.lane.idle_visits = 0;
        self.lane.position += LINE as u64;
        // Release: the record has been read before the sender may write there again.
        self.tail.store(self.lane.position, Ordering::Release);
        self.stats.records += 1;
        self.stats.bytes += self.len as u64;
    }
}
