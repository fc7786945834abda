//! The near future: a ring of slots, each a list of events in order.

use super::Time;
use std::hint::select_unpredictable;

/// Number of slots of the wheel.
const SLOTS: u64 = 4096;
/// Number of slots in a word of the bitmap.
const WORD: u64 = 64;
const WORDS: u64 = SLOTS / WORD;
/// Stands for no place: the first place of the pool, which is never filled. It stands before the first event
/// of every list, so that most operations need not test whether a list is empty.
const NONE: u32 = 0;

/// A place in the pool: an event and the next place of its slot, or an empty place and the next empty one.
struct Place<E> {
    at: Time,
    next: u32,
    event: Option<E>,
}

/// The events of a slot, by the places of the first and the last. The last is valid only if there is a first.
/// Whether a slot has another event cannot be predicted, so this must not lead to a branch, only to a choice
/// between registers.
#[derive(Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

/// The wheel turns by words of slots: from a slot on it reaches the end of the word before the one of this
/// slot, one turn later. So a word never has slots of two turns, and the lowest bit that is set in it is the
/// first of them to come.
pub(super) struct Wheel<E> {
    lists: Box<[List; SLOTS as usize]>,
    /// Bitmap of the slots that have events.
    used: [u64; WORDS as usize],
    pool: Vec<Place<E>>,
    empty: u32,
    /// Number of events added since the beginning.
    pushed: u64,
}

/// Whether the wheel reaches `slot` from `from` on, which must not be after it.
#[inline]
pub(super) fn reaches(from: u64, slot: u64) -> bool {
    slot / WORD - from / WORD < WORDS
}

/// The first slot from which the wheel reaches `slot`.
pub(super) fn reached_from(slot: u64) -> u64 {
    (slot / WORD).saturating_sub(WORDS - 1) * WORD
}

impl<E> Wheel<E> {
    pub fn new() -> Self {
        Wheel {
            lists: Box::new([List { first: NONE, last: NONE }; SLOTS as usize]),
            used: [0; WORDS as usize],
            pool: vec![Place { at: Time::ZERO, next: NONE, event: None }],
            empty: NONE,
            pushed: 0,
        }
    }

    /// Number of events that were ever added.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Adds an event to a slot that the wheel [`reaches`], behind all events that happen at the same time or
    /// before.
    #[inline(always)]
    pub fn push(&mut self, slot: u64, at: Time, event: E) {
        let new = self.empty;
        if new == NONE {
            return self.push_new(slot, at, event);
        }
        let place = &mut self.pool[new as usize];
        self.empty = place.next;
        *place = Place { at, next: NONE, event: Some(event) };
        self.pushed += 1;
        let index = (slot % SLOTS) as usize;
        self.used[index / WORD as usize] |= 1 << (slot % WORD);
        let list = &mut self.lists[index];
        let List { first, last } = *list;
        let alone = first == NONE;
        let before = &mut self.pool[select_unpredictable(alone, NONE, last) as usize];
        if before.at > at {
            return self.insert(index, new, at);
        }
        before.next = new;
        *list = List { first: select_unpredictable(alone, new, first), last: new };
    }

    /// Like [`Wheel::push`], when no place is empty.
    #[cold]
    #[inline(never)]
    fn push_new(&mut self, slot: u64, at: Time, event: E) {
        self.empty = self.pool.len() as u32;
        self.pool.push(Place { at, next: NONE, event: None });
        self.push(slot, at, event);
    }

    /// Inserts a place before the last one of its list.
    #[cold]
    #[inline(never)]
    fn insert(&mut self, index: usize, new: u32, at: Time) {
        let (mut before, mut next) = (NONE, self.lists[index].first);
        while self.pool[next as usize].at <= at {
            (before, next) = (next, self.pool[next as usize].next);
        }
        self.pool[new as usize].next = next;
        match before {
            NONE => self.lists[index].first = new,
            _ => self.pool[before as usize].next = new,
        }
    }

    /// The first slot from `from` on that has events.
    #[inline]
    pub fn next_slot(&self, from: u64) -> Option<u64> {
        let word = from / WORD;
        let bits = self.used[(word % WORDS) as usize];
        if bits == 0 {
            return self.next_word(word);
        }
        Some(word * WORD + u64::from(bits.trailing_zeros()))
    }

    /// Like [`Wheel::next_slot`], when the word of `from` has no event.
    #[inline(never)]
    fn next_word(&self, word: u64) -> Option<u64> {
        let bits = |word| self.used[(word % WORDS) as usize];
        let word = (word + 1..word + WORDS).find(|&word| bits(word) != 0)?;
        Some(word * WORD + u64::from(bits(word).trailing_zeros()))
    }

    /// Takes the first event of `slot`, which must be the first slot with events, and its time, if it is due
    /// by `until`.
    #[inline]
    pub fn pop(&mut self, slot: u64, until: Time) -> Option<(Time, E)> {
        let index = (slot % SLOTS) as usize;
        let list = &mut self.lists[index];
        let first = list.first;
        let place = self.pool.get_mut(first as usize).filter(|place| place.at <= until)?;
        let (at, event) = (place.at, place.event.take()?);
        let next = std::mem::replace(&mut place.next, self.empty);
        self.empty = first;
        list.first = next;
        // The bit of this slot is the lowest one that is set.
        let word = &mut self.used[index / WORD as usize];
        *word = select_unpredictable(next == NONE, *word & word.wrapping_sub(1), *word);
        Some((at, event))
    }

    /// Time of the first event; all events must be in slots from `from` on.
    pub fn first_time(&self, from: u64) -> Option<Time> {
        let list = self.lists[(self.next_slot(from)? % SLOTS) as usize];
        self.pool.get(list.first as usize).map(|place| place.at)
    }
}
