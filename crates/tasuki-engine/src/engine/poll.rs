//! Polls of a program that calls again and again: most of them look at shared memory alone, and find nothing
//! or one message.

use std::time::Duration;

use tasuki_proto::Time;
use tasuki_ring::{Found, Peek};
use tasuki_tuning::wait;

use super::{Engine, ends, streaming};
use crate::api::Completion;
use crate::peers::Names;
use crate::shm;
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
        if std::mem::take(&mut self.given.served) && self.messages.is_idle() {
            self.wait.reply_came();
            self.shm.set_flowing(false);
            self.wait.count_poll();
            return Peek::Nothing;
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
            let wants = more && !self.messages.is_idle();
            self.given.served = !wants;
            if !(wants && flowing && self.may_poll_memory_alone()) {
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

    /// Decides how to offer the processor, by a yield or by a nap, when it is time to offer it.
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
    /// Gives the completions that wait, if there are any, without a poll: what is looked for now would not be
    /// given before them anyway, and may come too early for its receive. False, and nothing is given, if the
    /// call before did so, or if there is more to be done.
    pub fn give_ready(&mut self, each: impl FnMut(&Completion, &Names<'_>)) -> bool {
        let ready = self.may_poll_memory_alone()
            && !self.messages.completions().is_empty()
            && !self.messages.has_work()
            && !std::mem::take(&mut self.given.ready);
        if ready {
            self.given.ready = true;
            self.wait.count_poll();
            self.wait.is_time_to_rest(true, true);
            self.take_completions(usize::MAX, each);
            self.given.served = true;
        }
        ready
    }

    /// A poll is over, and has given the program something or nothing.
    #[inline]
    pub fn note_given(&mut self, given: bool) {
        self.given.served = given;
        self.given.ready = false;
    }

    /// Gives up to `max` completions to `each`, the oldest first. Returns how many.
    #[inline]
    pub fn take_completions(&mut self, max: usize, each: impl FnMut(&Completion, &Names<'_>)) -> usize {
        match self.messages.completions().is_empty() {
            true => 0,
            false => self.messages.completions_mut().drain(max, &self.peers, each),
        }
    }

    pub fn pop_completion(&mut self) -> Option<Completion> {
        self.messages.completions_mut().pop()
    }

    /// Whether the program would be given something.
    pub fn has_completions(&self) -> bool {
        !self.messages.completions().is_empty() || self.rma.has_completions()
    }

    /// The names of peers, for callbacks.
    pub fn names(&self) -> Names<'_> {
        Names(&self.peers)
    }
}

/// Polls of everything.
impl Engine {
    /// Takes in what has arrived, does what follows from it, and sends what may be sent. Never blocks. True
    /// if there was something.
    pub fn progress(&mut self) -> bool {
        let busy = self.receive_shm();
        self.poll_everything(busy, true)
    }

    /// As [`Engine::progress`], by the helper thread.
    pub fn progress_by_helper(&mut self) {
        self.activity.helper += 1;
        self.progress();
        self.net.prepare_to_sleep();
    }

    /// Sends coalesced messages, by the helper thread, because the program has stopped calling.
    pub fn send_abandoned(&mut self) {
        let now = self.now();
        if self.net.abandon_coalesced(now) {
            self.activity.helper += 1;
            self.settle(now);
        }
    }

    /// Takes in what peers on this host have written. True if there was something.
    fn receive_shm(&mut self) -> bool {
        let shm::Received { any, newcomers } = self.shm.receive(&mut self.messages, &mut self.peers);
        if any {
            self.net.spare_udp();
        }
        for peer in newcomers {
            self.choose_route(peer, self.now());
            if let Some(id) = self.peers.id(peer) {
                self.messages.layer_mut().introduce(id);
            }
            ends::part_from_newcomer(self, peer);
        }
        any
    }

    /// The rest of a poll, after shared memory. `busy`: something has come through memory. With `all`,
    /// everything is done that can be done; otherwise, if something has come, acknowledgements wait for the
    /// next poll that finds nothing, because the program waits for what has come.
    fn poll_everything(&mut self, mut busy: bool, all: bool) -> bool {
        let now = self.now();
        self.activity.polled = now;
        if self.net.install_opened_lanes(&self.peers, now) {
            self.page.set_lanes(&self.shm, &self.net);
        }
        self.wait.polling_everything(now, self.peers.are_all_local());
        let udp_due = self.net.udp_is_due(now);
        self.net.program_polls(now);
        busy |= self.messages.layer_mut().handle_time(now.0);
        busy |= self.receive_packets(now, busy && !all);
        busy |= streaming::poll(self, now);
        if self.shm.has_pending_copies() {
            busy |= self.shm.end_pulls(&mut self.messages);
        }
        busy |= self.net.handle_timeout(now);
        if now >= self.liveness.next_round() {
            self.periodic(now);
        }
        let caught_up = (all || !busy) && self.net.catch_up();
        // Between two polls of the UDP sockets a round that has found nothing has nothing to settle: whatever
        // else changes something settles it itself. What does not is late by no more than the time between
        // two such polls.
        if !busy && !udp_due && !caught_up && self.settled && self.shm.stalled().is_empty() {
            self.update_quiet();
            return false;
        }
        busy | self.settle(now)
    }

    /// Takes in packets, and what hosts and the kernel say about them. True if there was something.
    fn receive_packets(&mut self, now: Time, served: bool) -> bool {
        let polled = self.net.receive(&mut self.messages, &mut self.peers, now, served);
        let judge = polled.datagrams && self.rendezvous.is_judging_due(now);
        if judge || self.messages.take_fast_news() {
            streaming::invite(self, now);
        }
        if polled.udp {
            let verdicts = self.liveness.hear_refusals(&mut self.net, &self.peers, now);
            if !verdicts.is_empty() {
                ends::carry_out(self, verdicts, now);
            }
        }
        if self.net.has_events() {
            self.hear_net_events(now);
        }
        polled.any
    }
}
