//! The near future: a ring of slots, each a list of events in the order in which they happen.

use super::Time;
use std::hint::select_unpredictable;

/// Slots of the wheel; the summary of used ones is a word of words.
pub(super) const SLOTS: u64 = 4096;
const WORDS: usize = SLOTS as usize / 64;
const _: () = assert!(WORDS == 64);
/// No place: the first of the pool, which is never filled. It stands before the first event of every list, so that most is
/// done without asking whether a list is empty.
const NONE: u32 = 0;

/// A place in the pool: an event and the next of its slot, or empty and the next that is empty.
struct Place<E> {
    at: Time,
    next: u32,
    event: Option<E>,
}

/// The events of a slot, by the places of the first and of the last, which lie in one word: whether there is another one
/// nobody can predict, and so nothing may hang on it but a choice between registers.
#[derive(Clone, Copy)]
struct List(u64);

impl List {
    const EMPTY: List = List::new(NONE, NONE);

    #[inline]
    const fn new(first: u32, last: u32) -> List {
        List(first as u64 | (last as u64) << 32)
    }

    #[inline]
    fn first(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    fn last(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

pub(super) struct Wheel<E> {
    lists: Box<[List; SLOTS as usize]>,
    /// A bit per slot that has events.
    used: [u64; WORDS],
    /// A bit per word of `used` that is not 0.
    words: u64,
    pool: Vec<Place<E>>,
    empty: u32,
    len: usize,
}

impl<E> Wheel<E> {
    pub fn new() -> Self {
        Wheel {
            lists: Box::new([List::EMPTY; SLOTS as usize]),
            used: [0; WORDS],
            words: 0,
            pool: vec![Place { at: Time::ZERO, next: NONE, event: None }],
            empty: NONE,
            len: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds an event to a slot, which is less than `SLOTS` away: behind all that happen at the same time or before.
    #[inline]
    pub fn push(&mut self, slot: u64, at: Time, event: E) {
        let new = self.place(at, event);
        self.len += 1;
        let index = (slot % SLOTS) as usize;
        self.used[index / 64] |= 1 << (index % 64);
        self.words |= 1 << (index / 64);
        let list = &mut self.lists[index];
        let before = &mut self.pool[list.last() as usize];
        if before.at <= at {
            before.next = new;
            let first = list.first();
            *list = List::new(select_unpredictable(first == NONE, new, first), new);
        } else {
            self.insert(index, new, at);
        }
    }

    /// A place with an event.
    #[inline]
    fn place(&mut self, at: Time, event: E) -> u32 {
        let place = Place { at, next: NONE, event: Some(event) };
        let new = self.empty;
        if new == NONE {
            return self.grow(place);
        }
        let empty = &mut self.pool[new as usize];
        self.empty = empty.next;
        *empty = place;
        new
    }

    /// One place more.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, place: Place<E>) -> u32 {
        self.pool.push(place);
        self.pool.len() as u32 - 1
    }

    /// Puts a place before the last one of its list.
    #[cold]
    #[inline(never)]
    fn insert(&mut self, index: usize, new: u32, at: Time) {
        let (mut before, mut next) = (NONE, self.lists[index].first());
        while self.pool[next as usize].at <= at {
            (before, next) = (next, self.pool[next as usize].next);
        }
        self.pool[new as usize].next = next;
        match before {
            NONE => self.lists[index] = List::new(new, self.lists[index].last()),
            _ => self.pool[before as usize].next = new,
        }
    }

    /// The first event of a slot and its time, if it is due by `until`.
    #[inline]
    pub fn pop(&mut self, slot: u64, until: Time) -> Option<(Time, E)> {
        let index = (slot % SLOTS) as usize;
        let list = &mut self.lists[index];
        let first = list.first();
        let place = self.pool.get_mut(first as usize).filter(|place| place.at <= until)?;
        let (at, event) = (place.at, place.event.take()?);
        let next = std::mem::replace(&mut place.next, self.empty);
        self.empty = first;
        self.len -= 1;
        *list = select_unpredictable(next == NONE, List::EMPTY, List::new(next, list.last()));
        let word = &mut self.used[index / 64];
        *word &= !(u64::from(next == NONE) << (index % 64));
        self.words &= !(u64::from(*word == 0) << (index / 64));
        Some((at, event))
    }

    /// The first slot from `from` on that has events.
    #[inline]
    pub fn next_slot(&self, from: u64) -> Option<u64> {
        let index = (from % SLOTS) as usize;
        let (mut word, bit) = (index / 64, index % 64);
        let mut bits = self.used[word] & (u64::MAX << bit);
        if bits == 0 {
            // The words after this one in turn, itself last, for the bits before `bit`.
            let behind = self.words.rotate_right(word as u32 + 1);
            if behind == 0 {
                return None;
            }
            word = (word + 1 + behind.trailing_zeros() as usize) % WORDS;
            bits = self.used[word];
        }
        let found = (word * 64) as u64 + u64::from(bits.trailing_zeros());
        Some(from + (found + SLOTS - index as u64) % SLOTS)
    }

    /// Time of the first event, if all are in slots from `from` on.
    pub fn first_time(&self, from: u64) -> Option<Time> {
        let list = self.lists[(self.next_slot(from)? % SLOTS) as usize];
        self.pool.get(list.first() as usize).map(|place| place.at)
    }
}
