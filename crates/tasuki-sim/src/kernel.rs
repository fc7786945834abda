//! The event kernel: virtual time, and the order of events. It knows nothing about networks, so every
//! simulation (of rails, switches, processes) brings its own kind of event.
//!
//! Events of the same time happen in the order in which they were scheduled, so a run depends on nothing but
//! its input. There is no wall clock.
//!
//! The kernel is a calendar queue (Brown, CACM 1988): the near future is a wheel of slots, each a short list
//! in order, and events that are farther away wait in a heap until the wheel comes near. Scheduling and
//! taking an event cost the same however many are to come, as long as most are near, and slots are so short
//! that new events go to the end of their lists. Only the heap numbers its events: a slot gets those from the
//! heap before it gets any other, so in a list the events of the same time stand in the order in which they
//! were scheduled.

mod wheel;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fmt;

use wheel::Wheel;

/// Virtual time since the beginning of the run, in nanoseconds unless a simulation uses another unit.
/// Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The beginning.
    pub const ZERO: Time = Time(0);
    /// A time later than all others.
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
    /// The heap returns its largest entry, so the earliest entry must compare as the largest.
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
    /// Length of a slot, as a power of two.
    slot_bits: u32,
    /// The slot of the last event that happened. The wheel holds events of this slot and those after it;
    /// `far` holds those that are too far away.
    slot: u64,
    wheel: Wheel<E>,
    far: BinaryHeap<Entry<E>>,
    /// The first slot from which the wheel reaches the first event in `far`.
    far_from: u64,
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
    /// A kernel at the beginning of time, without events.
    pub fn new() -> Kernel<E> {
        Kernel::with_slots(6)
    }

    /// Like [`Kernel::new`], with slots of 2^`bits` units of time. It is fastest if events of different times
    /// are seldom in one slot, and most events happen within 4,032 slots after they are scheduled; nothing
    /// else depends on it.
    pub fn with_slots(bits: u32) -> Kernel<E> {
        Kernel {
            slot_bits: bits.min(40),
            slot: 0,
            wheel: Wheel::new(),
            far: BinaryHeap::new(),
            far_from: u64::MAX,
            now: Time::ZERO,
            scheduled: 0,
            happened: 0,
        }
    }

    /// The present: the time of the last event that `pop` returned.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Number of events that have happened.
    #[inline]
    pub fn happened(&self) -> u64 {
        self.happened
    }

    /// Number of events to come.
    pub fn pending(&self) -> usize {
        (self.wheel.pushed() - self.happened) as usize + self.far.len()
    }

    /// Time of the next event.
    pub fn next_time(&self) -> Option<Time> {
        let far = self.far.peek().map(|entry| entry.at);
        let near = self.wheel.first_time(self.slot);
        near.into_iter().chain(far).min()
    }

    /// Schedules an event at `at`, or at the present if that has passed.
    #[inline]
    pub fn schedule(&mut self, at: Time, event: E) {
        let at = at.max(self.now);
        let slot = at.0 >> self.slot_bits;
        if wheel::reaches(self.slot, slot) {
            self.wheel.push(slot, at, event);
        } else {
            self.schedule_far(slot, at, event);
        }
    }

    #[cold]
    fn schedule_far(&mut self, slot: u64, at: Time, event: E) {
        let order = self.scheduled;
        self.scheduled += 1;
        self.far.push(Entry { at, order, event });
        self.far_from = self.far_from.min(wheel::reached_from(slot));
    }

    /// Takes the next event; its time becomes the present.
    #[inline]
    pub fn pop(&mut self) -> Option<E> {
        self.pop_by(Time::NEVER)
    }

    /// Takes the next event if it happens at `until` or before; otherwise the present does not change.
    #[inline]
    pub fn pop_by(&mut self, until: Time) -> Option<E> {
        let slot = match self.wheel.next_slot(self.slot) {
            Some(slot) if slot < self.far_from => slot,
            _ => self.draw_near(until)?,
        };
        let (at, event) = self.wheel.pop(slot, until)?;
        (self.slot, self.now) = (slot, at);
        self.happened += 1;
        Some(event)
    }

    /// Lets time pass until `until`, or until the next event if that is sooner.
    pub fn wait(&mut self, until: Time) {
        let until = self.next_time().map_or(until, |next| next.min(until));
        self.now = self.now.max(until);
    }

    /// Moves those events from the heap to the wheel that the wheel reaches from the next event on. Returns
    /// the slot of the next event, if it happens by `until`.
    fn draw_near(&mut self, until: Time) -> Option<u64> {
        let next = self.next_time().filter(|next| *next <= until)?;
        self.slot = next.0 >> self.slot_bits;
        self.far_from = u64::MAX;
        while let Some(entry) = self.far.peek() {
            let at = entry.at.0 >> self.slot_bits;
            if !wheel::reaches(self.slot, at) {
                self.far_from = wheel::reached_from(at);
                break;
            }
            let Some(entry) = self.far.pop() else { break };
            self.wheel.push(at, entry.at, entry.event);
        }
        Some(self.slot)
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

    /// Events schedule others, near and far, and the order is compared with that of a plain list that is
    /// searched for its least.
    #[test]
    fn order_is_that_of_a_list() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let mut kernel = Kernel::with_slots(rng.below(14) as u32);
            let mut list: Vec<(u64, u64)> = Vec::new();
            let (mut name, mut now) = (0, 0);
            for _ in 0..3000 {
                for _ in 0..rng.below(4) {
                    let at = now + rng.magnitude(1 << 30);
                    kernel.schedule(Time(at), name);
                    list.push((at, name));
                    name += 1;
                }
                let first = list.iter().copied().min();
                assert_eq!(kernel.next_time(), first.map(|(at, _)| Time(at)), "seed {seed}");
                let until = Time(now + rng.magnitude(1 << 30));
                if first.is_some_and(|(at, _)| at > until.0) {
                    assert_eq!((kernel.pop_by(until), kernel.now().0), (None, now), "seed {seed}");
                    continue;
                }
                assert_eq!(kernel.pop_by(until), first.map(|(_, name)| name), "seed {seed}");
                list.retain(|entry| Some(*entry) != first);
                now = kernel.now().0;
                assert_eq!(kernel.pending(), list.len(), "seed {seed}");
            }
        }
    }

    #[test]
    fn the_past_is_the_present() {
        let mut kernel = Kernel::new();
        kernel.schedule(Time(50), 0);
        kernel.pop();
        kernel.schedule(Time(10), 1);
        assert_eq!((kernel.next_time(), kernel.pop(), kernel.now()), (Some(Time(50)), Some(1), Time(50)));
    }

    #[test]
    fn waiting_passes_no_event() {
        let mut kernel = Kernel::new();
        kernel.wait(Time(30));
        assert_eq!(kernel.now(), Time(30));
        kernel.schedule(Time(40), 0);
        kernel.wait(Time(35));
        assert_eq!(kernel.now(), Time(35));
        kernel.wait(Time(50));
        assert_eq!((kernel.now(), kernel.pop(), kernel.now()), (Time(40), Some(0), Time(40)));
    }

    #[test]
    fn the_end_of_time_is_reached() {
        let mut kernel = Kernel::new();
        kernel.schedule(Time::NEVER, 1);
        kernel.schedule(Time(5), 0);
        assert_eq!([kernel.pop(), kernel.pop(), kernel.pop()], [Some(0), Some(1), None]);
        assert_eq!(kernel.now(), Time::NEVER);
    }
}
