//! What can happen in a fabric.

use std::num::NonZeroU64;

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The head of the first packet of a queue can leave the node that it came to.
    Head(u32),
    /// A packet is at a switch that drops what does not fit.
    Store(u32),
    /// A packet's tail is at its destination.
    Deliver(u32),
    /// A channel looks at who wants it.
    Wake(u32),
    /// A port with two queues can send its next packet over this channel.
    Serve(u32),
    /// The load asked for this: a host and what it said.
    Timer(u32, u32),
}

/// An event as it is scheduled: one word, which the calendar moves in a register. From the lowest bit: the kind, the host of a timer,
/// the number.
#[derive(Clone, Copy)]
pub(super) struct Word(NonZeroU64);

const HEAD: u32 = 1;
const STORE: u32 = 2;
const DELIVER: u32 = 3;
const WAKE: u32 = 4;
const TIMER: u32 = 5;
const SERVE: u32 = 6;
/// Bits of a kind.
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
        // No kind is 0.
        Word(NonZeroU64::new(word).unwrap_or(NonZeroU64::MIN))
    }
}

impl From<Word> for Event {
    #[inline]
    fn from(Word(word): Word) -> Event {
        let (lower, number) = (word.get() as u32, (word.get() >> 32) as u32);
        match lower & KIND {
            HEAD => Event::Head(number),
            STORE => Event::Store(number),
            DELIVER => Event::Deliver(number),
            WAKE => Event::Wake(number),
            SERVE => Event::Serve(number),
            _ => Event::Timer(lower >> KIND_BITS, number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_its_event() {
        for number in [0, 1, 1 << 20, u32::MAX] {
            let all = [
                Event::Head(number),
                Event::Store(number),
                Event::Deliver(number),
                Event::Wake(number),
                Event::Serve(number),
            ];
            let timers = [0, 7, (1 << 29) - 1].map(|host| Event::Timer(host, number));
            for event in all.into_iter().chain(timers) {
                assert_eq!(Event::from(Word::from(event)), event);
            }
        }
    }
}
