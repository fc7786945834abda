//! The near future: a ring of slots, each a list of events in no order.

use super::{Entry, Time};

/// Slots of the wheel.
pub(super) const SLOTS: u64 = 4096;
const WORDS: usize = SLOTS as usize / 64;
/// End of a list.
const NONE: u32 = u32::MAX;

/// A place in the pool: an event and the next of its slot, or empty and the next that is empty.
struct Place<E> {
    entry: Option<Entry<E>>,
    next: u32,
}

pub(super) struct Wheel<E> {
    first: Vec<u32>,
    /// A bit per slot that has events.
    used: [u64; WORDS],
    pool: Vec<Place<E>>,
    empty: u32,
    len: usize,
}

impl<E> Wheel<E> {
    pub fn new() -> Self {
        Wheel { first: vec![NONE; SLOTS as usize], used: [0; WORDS], pool: Vec::new(), empty: NONE, len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds an event to a slot, which is less than `SLOTS` away.
    #[inline]
    pub fn push(&mut self, slot: u64, entry: Entry<E>) {
        let at = (slot % SLOTS) as usize;
        let place = Place { entry: Some(entry), next: self.first[at] };
        if self.empty == NONE {
            self.first[at] = self.pool.len() as u32;
            self.pool.push(place);
        } else {
            let free = self.empty;
            let old = std::mem::replace(&mut self.pool[free as usize], place);
            self.empty = old.next;
            self.first[at] = free;
        }
        self.used[at / 64] |= 1 << (at % 64);
        self.len += 1;
    }

    /// Moves the events of a slot to a list.
    #[inline]
    pub fn take(&mut self, slot: u64, into: &mut Vec<Entry<E>>) {
        let at = (slot % SLOTS) as usize;
        let mut next = std::mem::replace(&mut self.first[at], NONE);
        self.used[at / 64] &= !(1 << (at % 64));
        while next != NONE {
            let place = &mut self.pool[next as usize];
            into.extend(place.entry.take());
            let after = std::mem::replace(&mut place.next, self.empty);
            self.empty = next;
            next = after;
            self.len -= 1;
        }
    }

    /// The first slot after `now` that has events.
    #[inline]
    pub fn next_slot(&self, now: u64) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        let from = ((now + 1) % SLOTS) as usize;
        let (word, bit) = (from / 64, from % 64);
        // The first word comes again at the end, for the bits before `bit`.
        for step in 0..=WORDS {
            let at = (word + step) % WORDS;
            let mask = match step {
                0 => u64::MAX << bit,
                WORDS => !(u64::MAX << bit),
                _ => u64::MAX,
            };
            let bits = self.used[at] & mask;
            if bits != 0 {
                let found = (at * 64) as u64 + u64::from(bits.trailing_zeros());
                return Some(now + 1 + (found + SLOTS - from as u64) % SLOTS);
            }
        }
        None
    }

    /// Time of the first event after slot `now`.
    pub fn first_time(&self, now: u64) -> Option<Time> {
        let slot = self.next_slot(now)?;
        let mut next = self.first[(slot % SLOTS) as usize];
        let mut first = None;
        while let Some(place) = self.pool.get(next as usize) {
            let at = place.entry.as_ref().map(|entry| entry.at);
            first = first.into_iter().chain(at).min();
            next = place.next;
        }
        first
    }
}
