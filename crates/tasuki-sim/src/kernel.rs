//! The event kernel: virtual time, and what happens when. It knows nothing about networks, so whatever is simulated
//! (rails, switches, processes) brings its own kind of event.
//!
//! Events of the same time happen in the order in which they were scheduled, so a run depends on nothing but its
//! input. There is no wall clock.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fmt;

/// Virtual time, nanoseconds since the beginning of the run. Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The beginning.
    pub const ZERO: Time = Time(0);
    /// Later than everything.
    pub const NEVER: Time = Time(u64::MAX);

    /// `ns` nanoseconds later.
    #[must_use]
    pub fn after(self, ns: u64) -> Time {
        Time(self.0.saturating_add(ns))
    }

    /// Nanoseconds since `earlier`, 0 if that is later.
    pub fn since(self, earlier: Time) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} us", self.0 / 1000, self.0 % 1000)
    }
}

struct Entry<E> {
    at: Time,
    /// Number of the call to `schedule`.
    order: u64,
    event: E,
}

impl<E> Entry<E> {
    fn key(&self) -> (Time, u64) {
        (self.at, self.order)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Entry<E>) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Entry<E>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// The heap gives its largest entry, so the earliest is the largest.
    fn cmp(&self, other: &Entry<E>) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// Events to come, and the present.
///
/// ```
/// use tasuki_sim::{Kernel, Time};
///
/// let mut kernel = Kernel::new();
/// kernel.schedule(Time(20), "second");
/// kernel.schedule(Time(10), "first");
/// kernel.schedule(Time(20), "third");
/// assert_eq!([kernel.pop(), kernel.pop(), kernel.pop()], [Some("first"), Some("second"), Some("third")]);
/// assert_eq!((kernel.now(), kernel.pop()), (Time(20), None));
/// ```
pub struct Kernel<E> {
    heap: BinaryHeap<Entry<E>>,
    now: Time,
    scheduled: u64,
    happened: u64,
}

impl<E> Default for Kernel<E> {
    fn default() -> Kernel<E> {
        Kernel::new()
    }
}

impl<E> Kernel<E> {
    /// The beginning of time, with nothing to come.
    pub fn new() -> Kernel<E> {
        Kernel { heap: BinaryHeap::new(), now: Time::ZERO, scheduled: 0, happened: 0 }
    }

    /// The present: the time of the last event that `pop` gave.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events that have happened.
    pub fn happened(&self) -> u64 {
        self.happened
    }

    /// Events to come.
    pub fn pending(&self) -> usize {
        self.heap.len()
    }

    /// Time of the next event.
    pub fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Lets `event` happen at `at`; at once if that has passed.
    pub fn schedule(&mut self, at: Time, event: E) {
        let order = self.scheduled;
        self.scheduled += 1;
        self.heap.push(Entry { at: at.max(self.now), order, event });
    }

    /// The next event; the present moves on to its time.
    pub fn pop(&mut self) -> Option<E> {
        let entry = self.heap.pop()?;
        self.now = entry.at;
        self.happened += 1;
        Some(entry.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn order_is_that_of_a_stable_sort() {
        let mut rng = Rng::new(3);
        let mut kernel = Kernel::new();
        let mut expected: Vec<(u64, usize)> = (0..2000).map(|name| (rng.below(300), name)).collect();
        for &(at, name) in &expected {
            kernel.schedule(Time(at), name);
        }
        expected.sort_by_key(|(at, _)| *at);
        for (at, name) in expected {
            assert_eq!((kernel.pop(), kernel.now()), (Some(name), Time(at)));
        }
        assert_eq!((kernel.happened(), kernel.pending()), (2000, 0));
    }

    #[test]
    fn the_past_is_the_present() {
        let mut kernel = Kernel::new();
        kernel.schedule(Time(50), 0);
        kernel.pop();
        kernel.schedule(Time(10), 1);
        assert_eq!((kernel.next_time(), kernel.pop(), kernel.now()), (Some(Time(50)), Some(1), Time(50)));
    }
}
