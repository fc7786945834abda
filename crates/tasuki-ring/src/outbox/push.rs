//! Pushing records into the ring.

use super::Outbox;
use crate::layout::*;
use crate::sync::Ordering;

/// Room that was found for a record. Nothing else can be pushed while it is held, so it cannot be out of
/// date.
pub struct Room<'a> {
    outbox: &'a mut Outbox,
    space: Space,
}

impl Room<'_> {
    /// Pushes a record of `len` bytes, at most what was asked for, that `write` fills in place (it finds
    /// arbitrary bytes there).
    #[inline]
    pub fn fill(self, len: usize, write: impl FnOnce(&mut [u8])) {
        self.outbox.fill(self.space, len, write);
    }
}

/// Room that was found for a record in one cache line. It differs from [`Room`] in its cost alone.
pub struct Line<'a> {
    outbox: &'a mut Outbox,
}

impl<'a> Line<'a> {
    /// Gives the room back, for a record of up to two cache lines, for which there is room as well.
    pub fn give_back(self) -> &'a mut Outbox {
        self.outbox
    }

    /// Where the record is to be written, before [`Line::push`]. Arbitrary bytes are there.
    #[inline(always)]
    pub fn bytes(&mut self) -> &mut [u8; SHORT] {
        // SAFETY: `has_room` said that the receiver has consumed what was here, and nothing was pushed since;
        // the receiver reads it again only after the store of the record's word in `push`, which ends the
        // reference. A line never runs over the ring's end.
        unsafe { self.outbox.map.writable_line(self.at() + 8) }
    }

    /// Pushes the first `len` bytes of it, at most [`SHORT`], as a record.
    #[inline(never)]
    pub fn push(self, len: usize) {
        assert!(len <= SHORT);
        let (at, position) = (self.at(), self.outbox.head);
        self.outbox.announce(position + LINE as u64);
        self.outbox.map.word(at).swap(record_word(position, len), Ordering::SeqCst);
        self.outbox.published(position + LINE as u64);
    }

    #[inline(always)]
    fn at(&self) -> usize {
        let geometry = &self.outbox.geometry;
        geometry.ring(self.outbox.index) + (self.outbox.head as usize & (geometry.ring_bytes - 1))
    }
}

/// Where the next record may go. It holds until the next is pushed.
struct Space {
    /// Bytes at the ring's end that are left out.
    skipped: usize,
    /// Bytes that the record may take.
    size: usize,
}

impl Outbox {
    /// Pushes a record of `len` bytes that `write` fills in place (it finds arbitrary bytes there). Returns
    /// false, without calling `write`, if the ring has no room now, if `len` exceeds [`Outbox::max_record`],
    /// or if the ring is shut ([`Outbox::is_shut`]).
    ///
    /// Cut a long stream into records of at most an eighth of the ring: then both sides copy at the same
    /// time.
    #[inline]
    pub fn push(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> bool {
        let Some(space) = self.find_space(len) else { return false };
        self.fill(space, len, write);
        true
    }

    /// Room for a record of up to [`SHORT`] bytes, which takes one cache line, or for one that takes two.
    /// `None` if there is none or the segment's owner has closed it.
    #[inline(always)]
    pub fn cache_line(&mut self) -> Option<Line<'_>> {
        // Four lines: two for the record, one for the zero word behind it, and one that may be left at the
        // ring's end, into which a record of two lines does not fit.
        let free = self.is_open() && self.has_room(4 * LINE);
        free.then_some(Line { outbox: self })
    }

    /// Whether the segment's owner has it open. The word for that is in a cache line that hardly ever
    /// changes, unlike that of `is_shut`, which the receiver writes for every record.
    #[inline(always)]
    fn is_open(&self) -> bool {
        self.map.is_here() && self.map.half(AT_CLOSED).load(Ordering::Acquire) == 0
    }

    /// Room for a record of up to `len` bytes. `None` if there is none or the segment's owner has closed it.
    #[inline]
    pub fn room(&mut self, len: usize) -> Option<Room<'_>> {
        let space = if self.is_open() { self.find_space(len) } else { None };
        space.map(|space| Room { outbox: self, space })
    }

    #[inline]
    fn find_space(&mut self, len: usize) -> Option<Space> {
        if len > self.geometry.max_record() || !self.map.is_here() {
            return None;
        }
        let (offset, size) = (self.head as usize & (self.geometry.ring_bytes - 1), footprint(len));
        let left = self.geometry.ring_bytes - offset;
        // The record goes to the ring's beginning if it does not fit at its end.
        let skipped = if size > left { left } else { 0 };
        // One line more, for the zero word behind the record.
        self.has_room(skipped + size + LINE).then_some(Space { skipped, size })
    }

    /// Pushes a record of `len` bytes into the space that was found for it. It is private because nothing may
    /// have been pushed in between.
    #[inline]
    fn fill(&mut self, space: Space, len: usize, write: impl FnOnce(&mut [u8])) {
        let (ring, mask) = (self.geometry.ring(self.index), self.geometry.ring_bytes - 1);
        let (offset, size) = (self.head as usize & mask, footprint(len));
        assert!(size <= space.size, "a record of {len} bytes is larger than its room");
        let skipped = space.skipped;
        let position = self.head + skipped as u64;
        let start = position as usize & mask;
        // SAFETY: `has_room` said that the receiver has consumed what was here, and nothing was pushed since;
        // the receiver reads it again only after the store of the record's word, below. The reference ends
        // with `write`.
        write(unsafe { self.map.writable(ring + start + 8, len) });
        let next = position + size as u64;
        self.announce(next);
        // An exchange and not a store and a fence, which takes three times as long. It pairs with the fences
        // of the receiver: either the receiver sees the record, or we see the bell armed.
        let record = record_word(position, len);
        if skipped == 0 {
            self.map.word(ring + start).swap(record, Ordering::SeqCst);
        } else {
            self.map.word(ring + start).store(record, Ordering::Relaxed);
            // Only this word shows the receiver the record at the ring's beginning.
            self.map.word(ring + offset).swap(wrap_word(self.head), Ordering::SeqCst);
        }
        self.published(next);
    }

    /// Makes the word at `next` zero, where a record that is about to be published ends: no record follows it
    /// yet.
    #[inline(always)]
    fn announce(&mut self, next: u64) {
        let (ring, mask) = (self.geometry.ring(self.index), self.geometry.ring_bytes - 1);
        if self.zeroed != next {
            self.map.word(ring + (next as usize & mask)).store(0, Ordering::Relaxed);
        }
        self.map.prefetch_for_writing(ring + ((next as usize + LINE) & mask));
    }

    /// Goes on after a record that ends at `next` has been published, by an exchange.
    #[inline(always)]
    fn published(&mut self, next: u64) {
        self.head = next;
        if self.map.half(self.slot() + SLOT_ARMED).load(Ordering::SeqCst) != 0 {
            self.ring_bell();
        }
        self.prepare(next + LINE as u64);
    }

    /// Does for the next record, if that is a short one, what would keep its receiver waiting then.
    #[inline(always)]
    fn prepare(&mut self, next: u64) {
        let (ring, mask) = (self.geometry.ring(self.index), self.geometry.ring_bytes - 1);
        // The line must be the sender's, as `has_room` would find.
        if next + LINE as u64 - self.tail <= self.geometry.ring_bytes as u64 {
            self.map.word(ring + (next as usize & mask)).store(0, Ordering::Relaxed);
            self.zeroed = next;
        }
    }

    /// Whether `need` bytes of the ring are free. The receiver's index is only read again if the last one
    /// leaves too few.
    #[inline(always)]
    fn has_room(&mut self, need: usize) -> bool {
        let free = self.geometry.ring_bytes - (self.head - self.tail) as usize;
        if free >= need { !self.broken } else { self.find_room(need) }
    }

    /// Reads how far the receiver has come, and says whether `need` bytes of the ring are free then.
    #[cold]
    fn find_room(&mut self, need: usize) -> bool {
        let free = |head: u64, tail: u64| self.geometry.ring_bytes - (head - tail) as usize;
        let tail = self.map.word(self.slot() + SLOT_TAIL).load(Ordering::Acquire);
        if tail < self.tail || tail > self.head || !tail.is_multiple_of(LINE as u64) {
            self.broken = true;
        }
        if self.is_shut() {
            return false;
        }
        self.tail = tail;
        free(self.head, tail) >= need
    }
}
