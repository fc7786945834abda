//! The events of a fabric.

use std::num::NonZeroU64;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The head of the first packet of a queue can leave the node where it is.
    Head(u32),
    /// A packet has arrived at a switch that drops what does not fit.
    Store(u32),
    /// The tail of a packet has arrived at its destination.
    Deliver(u32),
    /// A channel chooses among the queues that want it.
    Wake(u32),
    /// A port with two queues can send its next packet over this channel.
    Serve(u32),
    /// A timer of the load: a host, and a number of the load.
    Timer(u32, u32),
}

/// An event as it is scheduled: one word, which the calendar moves in a register. From the lowest bit: the
/// kind, the host of a timer, the number.
#[derive(Clone, Copy)]
pub(super) struct Word(NonZeroU64);

pub(super) const HEAD: u32 = 1;
pub(super) const STORE: u32 = 2;
pub(super) const DELIVER: u32 = 3;
pub(super) const WAKE: u32 = 4;
pub(super) const TIMER: u32 = 5;
pub(super) const SERVE: u32 = 6;
/// Number of bits of a kind.
const KIND_BITS: u32 = 3;
const KIND: u32 = (1 << KIND_BITS) - 1;

impl From<Event> for Word {
    #[inline(always)]
    fn from(event: Event) -> Word {
        let (lower, number) = match event {
            Event::Head(queue) => (HEAD, queue),
            Event::Store(packet) => (STORE, packet),
            Event::Deliver(packet) => (DELIVER, packet),
            Event::Wake(channel) => (WAKE, channel),
            Event::Serve(channel) => (SERVE, channel),
            Event::Timer(host, what) => (TIMER | host << KIND_BITS, what),
        };
        let word = u64::from(lower) | u64::from(number) << 32;
        // The word is not 0, because no kind is 0.
        Word(NonZeroU64::new(word).unwrap_or(NonZeroU64::MIN))
    }
}

impl Word {
    /// The kind: [`HEAD`] and so on.
    #[inline]
    pub fn kind(self) -> u32 {
        self.0.get() as u32 & KIND
    }

    /// Number of the queue, packet or channel, or the number of a timer.
    #[inline]
    pub fn number(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    /// Host of a timer.
    #[inline]
    pub fn host(self) -> u32 {
        self.0.get() as u32 >> KIND_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_its_event() {
        for number in [0, 1, 1 << 20, u32::MAX] {
            let all = [
                (HEAD, Event::Head(number)),
                (STORE, Event::Store(number)),
                (DELIVER, Event::Deliver(number)),
                (WAKE, Event::Wake(number)),
                (SERVE, Event::Serve(number)),
                (TIMER, Event::Timer(0, number)),
            ];
            for (kind, event) in all {
                let word = Word::from(event);
                assert_eq!((word.kind(), word.number()), (kind, number), "{event:?}");
            }
            for host in [0, 7, (1 << 29) - 1] {
                let word = Word::from(Event::Timer(host, number));
                assert_eq!((word.kind(), word.host(), word.number()), (TIMER, host, number));
            }
        }
    }
}
