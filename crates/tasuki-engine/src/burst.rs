//! Whether short messages to a peer on another host wait for those that follow, so that they share a packet.
//!
//! Every packet costs a system call, which is most of what a short message costs. But a message that waits must not wait for long, and who sends may go and
//! compute. So messages are held only in a burst, of which the first have gone at once, of a program that has shown by its last bursts that it looks
//! for messages right after them. What is held goes when it fills a packet, at whatever else the program does, or when the helper comes ([`crate::minder`]);
//! if that must come, the program has to show for longer that it does not go away.

use tasuki_proto::Time;

use crate::api::Peer;

/// Messages of a burst that go at once, so that the peer begins with them.
const FIRST: u32 = 3;
/// So many, with what they need in a packet, are held at most.
const MOST: u32 = 16;
const MOST_BYTES: usize = 1100;
/// What a message needs in a packet besides its bytes, about.
const HEAD: usize = 24;
/// Whoever does nothing for longer than this between two messages, or before it looks, does something else, ns.
const SOON: u64 = 8_000;
/// The same after a message that has gone at once, which itself takes some microseconds, and more if the kernel is interrupted.
const SOON_AFTER_CALL: u64 = 16_000;
/// Who has left messages for longer than this has been away, ns.
const AWAY: u64 = 100_000;
/// No message waits for longer while others follow, ns.
const AGE: u64 = 10_000;
/// Bursts further apart do not pay for waking the helper, ns.
const APART: u64 = 2_000_000;
/// Bursts that a program has shown to look after, before anything is held; twice as many after each time that the helper had to come.
const FEW: u32 = 4;
const MANY: u32 = 1024;
/// What one after which it looked late takes away: a processor may be taken from a program at any moment, and that is not its habit.
const LATE: u32 = 8;
/// Good ones that are remembered besides those that are needed.
const SPARE: u32 = 64;
/// After so many good ones half as many are needed.
const FORGET: u32 = 2048;

/// When a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// At once.
    Now,
    /// At once, and what is held before it.
    AfterOthers,
    /// It may wait for those that follow.
    Later,
}

/// Messages in a row, and what is known of those before.
pub(crate) struct Burst {
    peer: Peer,
    /// How often the program had looked when it began.
    looks: (u64, u32),
    /// Messages so far.
    count: u32,
    /// Messages of the last one: likely this one has as many, and nobody knows what the program does then.
    expected: u32,
    /// When the last of them was sent.
    last: Time,
    /// Those that wait, their bytes and heads, and since when.
    held: u32,
    bytes: usize,
    since: Time,
    /// Bursts that the program has looked after at once.
    good: u32,
    /// So many are needed.
    needed: u32,
    /// Good ones since that was halved.
    calm: u32,
    /// When the last burst was over.
    over: Time,
}

impl Burst {
    pub fn new() -> Burst {
        let never = Time(0);
        Burst {
            peer: Peer(u32::MAX),
            looks: (0, 0),
            count: 0,
            expected: 0,
            last: never,
            held: 0,
            bytes: 0,
            since: never,
            good: 0,
            needed: FEW,
            calm: 0,
            over: never,
        }
    }

    /// Another message is to be sent by a program that has looked so often. `Later` is for whoever has somebody who sees to it that it gets sent.
    #[inline]
    pub fn next(&mut self, peer: Peer, looks: (u64, u32), now: Time) -> When {
        let soon = if self.held > 0 { SOON } else { SOON_AFTER_CALL };
        let follows = peer == self.peer && looks == self.looks && now.since_ns(self.last) <= soon;
        if !follows {
            return self.begin(peer, looks, now);
        }
        (self.count, self.last) = (self.count + 1, now);
        if self.count <= FIRST || self.good < self.needed {
            When::Now
        } else if self.held > 0 && now.since_ns(self.since) > AGE {
            When::AfterOthers
        } else {
            When::Later
        }
    }

    #[inline]
    fn begin(&mut self, peer: Peer, looks: (u64, u32), now: Time) -> When {
        if self.is_long() {
            self.look(now);
        }
        (self.peer, self.looks, self.count, self.last) = (peer, looks, 1, now);
        if self.held > 0 { When::AfterOthers } else { When::Now }
    }

    /// So long that it matters when the program looks next.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.count > FIRST
    }

    /// The message waits, with others. True if no more should.
    pub fn hold(&mut self, len: usize, now: Time) -> bool {
        if self.held == 0 {
            self.since = now;
        }
        (self.held, self.bytes) = (self.held + 1, self.bytes + len + HEAD);
        self.held >= MOST || self.bytes >= MOST_BYTES || self.count == self.expected
    }

    /// Whether any wait.
    #[inline]
    pub fn holds(&self) -> bool {
        self.held > 0
    }

    /// Those that waited go.
    pub fn release(&mut self) {
        (self.held, self.bytes) = (0, 0);
    }

    /// The program does something else after a long burst: it looks for messages, sends to others, or sends on after a pause.
    pub fn look(&mut self, now: Time) {
        if self.held > 0 && now.since_ns(self.last) > AWAY {
            return self.abandon();
        }
        self.end(now);
    }

    /// A long burst is over, and nothing was left behind.
    fn end(&mut self, now: Time) {
        let soon = now.since_ns(self.last) <= if self.held > 0 { SOON } else { SOON_AFTER_CALL };
        let apart = now.since_ns(self.over) > APART;
        (self.expected, self.count, self.over) = (self.count, 0, now);
        if !soon {
            self.good = self.good.saturating_sub(LATE);
        } else if apart {
            self.good = 1;
        } else {
            self.succeed();
        }
    }

    fn succeed(&mut self) {
        (self.good, self.calm) = ((self.good + 1).min(self.needed + SPARE), self.calm + 1);
        if self.calm >= FORGET {
            (self.needed, self.calm) = ((self.needed / 2).max(FEW), 0);
        }
    }

    /// The program has left messages waiting: the helper had to come, or should have.
    pub fn abandon(&mut self) {
        self.expected = self.count;
        (self.count, self.good, self.needed) = (0, 0, (self.needed * 2).min(MANY));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Peer = Peer(1);

    /// A program that sends bursts of so many messages, 300 ns apart, and looks so long after each.
    struct Program {
        burst: Burst,
        now: u64,
        looked: u64,
    }

    impl Program {
        fn new() -> Program {
            Program { burst: Burst::new(), now: 1_000_000_000, looked: 0 }
        }

        fn send(&mut self, peer: Peer) -> When {
            self.now += 300;
            let now = Time(self.now);
            let when = self.burst.next(peer, (self.looked, 0), now);
            match when {
                When::Now => assert!(!self.burst.holds(), "it would overtake"),
                When::AfterOthers => self.burst.release(),
                When::Later => {
                    if self.burst.hold(8, now) {
                        self.burst.release();
                    }
                }
            }
            when
        }

        fn look(&mut self, after: u64) {
            self.now += after;
            self.looked += 1;
            if self.burst.is_long() {
                self.burst.look(Time(self.now));
            }
            self.burst.release();
        }

        /// Messages that were held, of so many, before a look so long after the last.
        fn burst(&mut self, count: u32, after: u64) -> u32 {
            let held = (0..count).filter(|_| self.send(PEER) == When::Later).count();
            self.look(after);
            held as u32
        }

        fn looks_soon(&mut self) {
            self.burst(10, 500);
        }

        /// Until messages are held; how many bursts it took.
        fn trusted(&mut self) -> u32 {
            (0..10_000).find(|_| self.burst(10, 500) > 0).expect("it shows that it looks")
        }

        fn sends(&mut self, count: u32) {
            (0..count).for_each(|_| assert!(self.send(PEER) != When::AfterOthers));
        }

        /// Sends until something is held.
        fn begin(&mut self) {
            while !self.burst.holds() {
                self.send(PEER);
            }
        }

        /// The helper comes and sends what waits.
        fn caught(&mut self) {
            assert!(self.burst.holds());
            self.burst.release();
            self.burst.abandon();
        }
    }

    #[test]
    fn only_after_bursts_with_a_look_at_once_is_anything_held() {
        let mut program = Program::new();
        assert_eq!(program.trusted(), FEW);
        assert_eq!(program.burst(64, 500), 64 - FIRST, "the first ones go at once");
        assert_eq!(program.burst(FIRST, 500), 0);
    }

    #[test]
    fn who_computes_after_bursts_is_never_held_up() {
        let mut program = Program::new();
        assert!((0..10_000).all(|_| program.burst(10, SOON_AFTER_CALL + 1) == 0));
        let mut program = Program::new();
        // Bursts far from each other.
        let far = |program: &mut Program| {
            let held = program.burst(10, 500);
            program.now += APART;
            held
        };
        assert!((0..10_000).all(|_| far(&mut program) == 0));
        // Messages far from each other, without a look.
        let mut program = Program::new();
        program.trusted();
        let slow = |program: &mut Program| {
            program.now += SOON_AFTER_CALL;
            program.send(PEER)
        };
        assert!((0..10_000).all(|_| slow(&mut program) == When::Now));
    }

    #[test]
    fn messages_to_others_and_pauses_send_what_waits() {
        let mut program = Program::new();
        program.trusted();
        program.begin();
        assert_eq!(program.send(Peer(2)), When::AfterOthers);
        program.begin();
        program.now += SOON;
        assert_eq!(program.send(PEER), When::AfterOthers);
    }

    #[test]
    fn a_burst_as_long_as_the_last_leaves_nothing_behind() {
        let mut program = Program::new();
        program.trusted();
        for count in [10, 50, 5] {
            program.burst(count, 500);
            program.sends(count);
            assert!(!program.burst.holds(), "{count}");
            program.look(500);
        }
    }

    #[test]
    fn nothing_waits_for_long_while_others_follow() {
        let mut program = Program::new();
        program.trusted();
        let mut since = None;
        for _ in 0..10_000 {
            program.now += SOON / 2;
            program.send(PEER);
            if program.burst.holds() {
                assert!(program.now - *since.get_or_insert(program.now) <= AGE);
            } else {
                since = None;
            }
        }
    }

    #[test]
    fn a_packet_holds_what_is_held() {
        let mut burst = Burst { expected: 1000, ..Burst::new() };
        for (len, most) in [(8, MOST as usize), (256, 4)] {
            let count = 1 + (0..).take_while(|_| !burst.hold(len, Time(1))).count();
            assert_eq!(count, most, "{len}");
            burst.release();
        }
    }

    #[test]
    fn who_was_caught_must_show_for_longer() {
        let mut program = Program::new();
        let mut took = program.trusted();
        for _ in 0..5 {
            program.begin();
            program.caught();
            let next = program.trusted();
            assert!(next >= 2 * took - FEW, "{next} after {took}");
            took = next;
        }
        // And is forgiven in the end.
        (0..8 * FORGET).for_each(|_| program.looks_soon());
        assert_eq!(program.burst.needed, FEW);
    }

    /// Of a program that computes after one of so many bursts few leave anything, whether the helper comes or the program comes back before.
    #[test]
    fn who_computes_now_and_then_seldom_leaves_anything() {
        for (bursts, helper) in [10, 40, 100].into_iter().flat_map(|bursts| [(bursts, true), (bursts, false)])
        {
            let mut program = Program::new();
            let mut caught = 0;
            for _ in 0..1000 {
                (0..bursts).for_each(|_| program.looks_soon());
                // Not as long as those before.
                program.sends(12);
                if program.burst.holds() {
                    caught += 1;
                    if helper {
                        program.caught();
                    }
                }
                program.now += 300_000;
                // It looks, or sends on.
                if caught % 2 == 0 {
                    program.look(500);
                }
            }
            assert!(caught <= 1000 * bursts / (MANY / 2) + 20, "{caught} times with {bursts}, {helper}");
        }
    }

    #[test]
    fn a_late_look_now_and_then_changes_nothing() {
        let mut program = Program::new();
        program.trusted();
        (0..20).for_each(|_| program.looks_soon());
        for _ in 0..100 {
            assert!(program.burst(10, SOON + 1) > 0);
            (0..20).for_each(|_| assert!(program.burst(10, 500) > 0));
        }
    }
}
