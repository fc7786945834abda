//! Polls of a program that calls again and again: most of them look at shared memory alone, and find nothing
//! or one message.

use std::time::Duration;

use tasuki_ring::{Found, Peek};
use tasuki_tuning::wait;

use super::Engine;
use crate::api::Completion;
use crate::peers::Names;
use crate::shm::inline::{First, Received};
use crate::wait::yielding::Rest;

impl Engine {
    /// Looks at memory without taking anything: all that most polls come to. [`Peek::Other`]: poll in the
    /// general way.
    #[inline(always)]
    pub fn peek(&mut self) -> Peek {
        if !self.may_poll_memory_alone() || self.messages.has_earlier() {
            return Peek::Other;
        }
        let peek = self.peek_memory();
        if let Peek::Nothing = peek {
            if !self.wait.keeps_processor() {
                return Peek::Other;
            }
            self.shm.set_flowing(false);
            self.wait.count_poll();
        }
        peek
    }

    /// Whether [`Engine::stay`] should follow a peek that has found nothing.
    #[inline(always)]
    pub fn stays_for_reply(&mut self) -> bool {
        self.wait.stays_for_reply()
    }

    /// Looks at memory until something arrives or the reply spin is over, if all peers are on this host.
    /// (What crosses a network takes longer, and arrived no sooner for programs that looked for it all the
    /// time.)
    pub fn stay(&mut self) -> Peek {
        if !self.peers.are_all_local() || self.shm.is_copying() {
            return Peek::Nothing;
        }
        let began = self.now();
        loop {
            for _ in 0..wait::REPLY_POLLS {
                match self.peek_memory() {
                    Peek::Nothing => {}
                    peek => {
                        self.wait.stayed(true);
                        return peek;
                    }
                }
            }
            if self.now().since_ns(began) >= wait::REPLY_SPIN_NS {
                self.wait.stayed(false);
                return Peek::Nothing;
            }
        }
    }

    /// Whether nothing but memory need be polled, unless something has come there. (The clock is read in the
    /// other polls, and what depends on it is done in them: deadlines, and the UDP sockets if nothing arrives
    /// there.)
    #[inline(always)]
    fn may_poll_memory_alone(&self) -> bool {
        self.quiet && self.wait.may_poll_memory_alone() && self.net.spares_udp()
    }

    /// Looks for a record in shared memory, and whether a frame waits in a raw lane.
    #[inline(always)]
    fn peek_memory(&self) -> Peek {
        match self.shm.peek() {
            Peek::Nothing if self.net.has_frames() => Peek::Other,
            peek => peek,
        }
    }

    /// Takes a record that was found, and those that follow it, if one often does. (Otherwise a look for
    /// another would delay the first.) Messages for waiting receives are given to `give`, which says whether
    /// it takes more. True if a message was given.
    #[inline(always)]
    pub fn take_found(&mut self, found: Found, mut give: impl FnMut(&Received, &Names<'_>) -> bool) -> bool {
        let (mut found, mut given) = (found, false);
        loop {
            let first = self.shm.take_inline(found, &mut self.messages, &self.peers, &mut give);
            let more = match first {
                First::Given(more) => more,
                First::Taken => {
                    self.net.spare_udp();
                    self.poll_further(true);
                    return given;
                }
                First::Nothing | First::Unknown => return given,
            };
            given = true;
            self.wait.count_poll();
            self.net.spare_udp();
            self.wait.is_time_to_rest(true, true);
            let flowing = self.shm.set_flowing(true);
            if self.messages.has_work() {
                self.poll_further(true);
                return given;
            }
            if !(more && flowing && self.may_poll_memory_alone()) {
                return given;
            }
            let Some(next) = self.peek_again() else { return given };
            found = next;
        }
    }

    /// Looks for another record behind the one that was taken.
    #[inline(never)]
    fn peek_again(&mut self) -> Option<Found> {
        match self.peek_memory() {
            Peek::Found(next) => Some(next),
            _ => {
                self.shm.set_flowing(false);
                None
            }
        }
    }

    /// A poll that may look at more than memory. Gives whether there was something, and a completion that
    /// goes before all others.
    #[inline(never)]
    pub fn poll(&mut self) -> (bool, Option<Completion>) {
        let mut completion = None;
        let first = match self.messages.has_earlier() {
            true => First::Unknown,
            false => self.take_first(&mut |received, _| {
                completion = Some((*received).into());
                false
            }),
        };
        let busy = match first {
            First::Nothing => {
                self.shm.set_flowing(false);
                false
            }
            First::Given(_) | First::Taken => {
                self.shm.set_flowing(true);
                self.net.spare_udp();
                true
            }
            First::Unknown => self.receive_shm(),
        };
        (self.poll_further(busy), completion)
    }

    /// As [`Engine::poll`], for callers that want no completion now.
    pub fn poll_without_completion(&mut self) -> bool {
        let busy = self.receive_shm();
        self.poll_further(busy)
    }

    /// Takes the first record, if it is in one cache line.
    #[inline(always)]
    fn take_first(&mut self, give: &mut impl FnMut(&Received, &Names<'_>) -> bool) -> First {
        match self.shm.peek() {
            Peek::Nothing => First::Nothing,
            Peek::Found(found) => self.shm.take_inline(found, &mut self.messages, &self.peers, give),
            Peek::Other => First::Unknown,
        }
    }

    /// The rest of a poll; `busy` if something has come through memory. True if there was something.
    fn poll_further(&mut self, busy: bool) -> bool {
        if busy && self.messages.has_actions() {
            self.run_actions();
        }
        self.wait.count_poll();
        let memory_alone = self.may_poll_memory_alone() && !self.shm.is_copying();
        if memory_alone && !self.net.has_frames() && !(busy && self.has_work()) {
            return busy;
        }
        self.poll_everything(busy, false) | self.serve_copy()
    }

    /// One round of [`crate::Endpoint::wait`]. Gives whether the program should look now, and otherwise how
    /// long nothing will happen.
    pub fn poll_before_sleep(&mut self) -> (bool, Duration) {
        let busy = self.progress() | self.serve_copy();
        let done = busy || self.has_completions();
        if !done {
            self.prepare_to_sleep();
        }
        (done, self.next_deadline())
    }
}

/// Waiting.
impl Engine {
    /// A poll is over. True if it is time to offer the processor to others.
    #[inline]
    pub fn is_time_to_rest(&mut self, busy: bool, given: bool) -> bool {
        self.wait.is_time_to_rest(busy, given)
    }

    /// It is time to offer the processor: how?
    pub fn rest(&mut self) -> Rest {
        let now = self.now();
        let rest = self.wait.rest(now);
        // A program that waits for nothing here polls something else besides, which no packet announces. Nor
        // does a packet announce what arrives by stream.
        if rest == Rest::Yield || !self.messages.is_awaited() || self.rendezvous.is_streaming() {
            return Rest::Yield;
        }
        self.net.prepare_to_sleep();
        rest
    }

    /// The processor was offered to others, which took so long.
    pub fn rested(&mut self, rest: Rest, took: Duration) {
        let now = self.now();
        self.wait.rested(rest, took, now);
    }

    /// Makes packets wake a sleeper. Call it before every sleep.
    pub fn prepare_to_sleep(&mut self) {
        self.net.prepare_to_sleep();
    }

    /// How long nothing will happen if nothing arrives.
    pub fn next_deadline(&self) -> Duration {
        let now = self.now();
        let packets = self.net.deadline().map(|deadline| deadline.0);
        let pace = self.messages.layer().time_due();
        let rendezvous = self.rendezvous.deadline(now);
        let round = Some(self.liveness.next_round().0);
        let deadline = [packets, pace, rendezvous, round].into_iter().flatten().min().unwrap_or(u64::MAX);
        Duration::from_nanos(deadline.saturating_sub(now.0))
    }
}

/// Completions.
impl Engine {
    /// Gives up to `max` completions to `each`, the oldest first. Returns how many.
    #[inline]
    pub fn take_completions(&mut self, max: usize, each: impl FnMut(&Completion, &Names<'_>)) -> usize {
        match self.messages.has_completions() {
            true => self.messages.drain_completions(max, &self.peers, each),
            false => 0,
        }
    }

    pub fn pop_completion(&mut self) -> Option<Completion> {
        self.messages.pop_completion()
    }

    /// Whether the program would be given something.
    pub fn has_completions(&self) -> bool {
        self.messages.has_completions() || self.rma.has_completions()
    }

    /// The names of peers, for callbacks.
    pub fn names(&self) -> Names<'_> {
        Names(&self.peers)
    }
}
