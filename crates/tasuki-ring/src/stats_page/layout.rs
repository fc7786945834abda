//! Where records are on a page, and how one is read and written.

use super::words::{Cursor, DropRecord, Origin, WORDS_MAX, Words};
use super::{EndpointRecord, Layout, PeerRecord, RailRecord};
use crate::map::Map;
use crate::sync::{Ordering, fence};

/// "tasukist".
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"tasukist");
/// Of this layout; a change of any record is a new version.
pub(crate) const VERSION: u64 = 3;
/// Words of the header: magic, version, peers, rails, drops, peers beyond the page, and two spare.
pub(crate) const HEADER_WORDS: usize = 8;
pub(crate) const AT_MAGIC: usize = 0;
pub(crate) const AT_VERSION: usize = 8;
pub(crate) const AT_PEERS: usize = 16;
pub(crate) const AT_RAILS: usize = 24;
pub(crate) const AT_DROPS: usize = 32;
pub(crate) const AT_BEYOND: usize = 40;
/// The lock that says that the writer lives.
pub(crate) const LOCK: i64 = 1 << 40;
/// Most that a page may have of peers, of rails per peer, and of reasons.
pub(crate) const MOST: [usize; 3] = [65_536, 64, 1024];
/// Times that a record is read anew while its writer is at it; writing takes some tens of nanoseconds.
pub(crate) const TRIES_MAX: usize = 1000;

/// Sizes of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) peers: usize,
    pub(crate) rails: usize,
    pub(crate) drops: usize,
}

const fn bytes(words: usize) -> usize {
    // A sequence word before each record.
    (words + 1) * 8
}

impl Places {
    pub(crate) fn new(layout: &Layout) -> Option<Places> {
        let Layout { peers, rails, drops, .. } = *layout;
        let good = peers <= MOST[0] && rails <= MOST[1] && drops <= MOST[2];
        good.then_some(Places { peers, rails, drops })
    }

    pub(crate) fn origin(&self) -> usize {
        HEADER_WORDS * 8
    }

    pub(crate) fn endpoint(&self) -> usize {
        self.origin() + bytes(Origin::WORDS)
    }

    pub(crate) fn drop(&self, index: usize) -> usize {
        self.endpoint() + bytes(EndpointRecord::WORDS) + index * bytes(DropRecord::WORDS)
    }

    pub(crate) fn peer(&self, index: usize) -> usize {
        self.drop(self.drops) + index * (bytes(PeerRecord::WORDS) + self.rails * bytes(RailRecord::WORDS))
    }

    pub(crate) fn rail(&self, index: usize, place: usize) -> usize {
        self.peer(index) + bytes(PeerRecord::WORDS) + place * bytes(RailRecord::WORDS)
    }

    pub(crate) fn total(&self) -> usize {
        self.peer(self.peers)
    }
}

/// Writes a record; plain stores, no read-modify-write, as there is one writer.
pub(crate) fn write(map: &Map, at: usize, words: usize, put: impl FnOnce(&mut Cursor<'_>)) {
    let mut values = [0; WORDS_MAX];
    put(&mut Cursor(&mut values[..words]));
    let sequence = map.word(at);
    // Odd: being written. Zero stays reserved for "never written", so the count goes round to 2.
    let odd = sequence.load(Ordering::Relaxed).wrapping_add(1) | 1;
    sequence.store(odd, Ordering::Relaxed);
    // The odd value is seen before any new word.
    fence(Ordering::Release);
    for (index, &value) in values[..words].iter().enumerate() {
        map.word(at + 8 + index * 8).store(value, Ordering::Relaxed);
    }
    let even = if odd == u64::MAX { 2 } else { odd + 1 };
    sequence.store(even, Ordering::Release);
}

/// Takes a record off the page.
pub(crate) fn erase(map: &Map, at: usize) {
    map.word(at).store(0, Ordering::Release);
}

/// What reading a record gave.
pub(crate) enum Found<T> {
    Record(T),
    /// Never written, or erased.
    Empty,
    /// Its writer was at it at every try.
    Torn,
}

/// Reads a record, whose sequence word was `before` when it was last read, at most `tries` times. `read`
/// reads bytes from an offset of the record on, one call after the other; false if they are not there.
pub(crate) fn read<T: Words>(before: u64, tries: usize, read: impl Fn(usize, &mut [u8]) -> bool) -> Found<T> {
    let (mut before, mut bytes) = (before, [0; WORDS_MAX * 8]);
    for _ in 0..tries {
        if before == 0 {
            return Found::Empty;
        }
        // The record is read after the sequence word that `before` is.
        fence(Ordering::Acquire);
        // An odd sequence word says that the record is being written.
        let whole = before.is_multiple_of(2) && read(8, &mut bytes[..T::WORDS * 8]);
        // The sequence word is read after the record.
        fence(Ordering::Acquire);
        let mut sequence = [0; 8];
        if !read(0, &mut sequence) {
            return Found::Empty;
        }
        let after = u64::from_ne_bytes(sequence);
        if whole && after == before {
            let mut values = [0; WORDS_MAX];
            for (value, word) in values.iter_mut().zip(bytes.chunks_exact(8)) {
                *value = u64::from_ne_bytes(word.try_into().unwrap_or_default());
            }
            return Found::Record(T::get(&mut Cursor(&mut values[..T::WORDS])));
        }
        before = after;
    }
    Found::Torn
}
