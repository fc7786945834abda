//! Coalescing: whether short messages to a peer on another host wait for those that follow, so that they
//! share a packet.
//!
//! Every packet costs a system call, which is most of what a short message costs. But a message that waits
//! must not wait for long, and a program that has sent may go and compute. So messages are coalesced only in
//! a series, of which the first ones have left at once. What is coalesced leaves when it fills a packet, when
//! the program polls or does anything else that sends, when the series has become as long as the one before,
//! or when the helper thread comes ([`crate::helper::watchdog`]). A program that had to be helped is not
//! trusted with coalescing for a while: for a moment if it may only have lost its processor, and each time
//! for twice as long as the time before if it goes on to leave messages behind.
//!
//! A program that says itself that more messages follow (`FI_MORE` of libfabric) is believed: its messages
//! are coalesced from the first one on, up to the one that it does not say it of.
//!
//! Decision 11 of `docs/adr` has the measurements.

use tasuki_proto::Time;
use tasuki_tuning::coalesce;

use crate::api::Peer;

/// When a message leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// At once; nothing is coalesced.
    Now,
    /// At once, behind what is coalesced.
    AfterCoalesced,
    /// With those that follow. Only for callers that make sure that it leaves.
    Coalesced,
}

/// The current series, and what is coalesced of it.
pub(crate) struct Coalescer {
    peer: Peer,
    /// How often the program had polled when the series began.
    polls: (u64, u32),
    /// Messages so far.
    count: u32,
    /// The series is so long, or has coalesced messages, that it matters when the program polls next.
    coalescing: bool,
    /// Messages of the last series. This series likely has as many; what the program does after them is
    /// unknown.
    expected: u32,
    /// When the last message was sent.
    last: Time,
    /// The program has said of the last message that more follow.
    announced: bool,
    /// Coalesced messages, their bytes with heads, and since when they wait.
    coalesced: u32,
    bytes: usize,
    since: Time,
    /// Nothing is coalesced before this time.
    distrusted_until: Time,
    /// How long nothing is coalesced if messages are left behind the next time, ns.
    distrust_ns: u64,
    /// Series of which messages could be coalesced and none was left behind, since `distrust_ns` was changed.
    kept: u32,
}

impl Coalescer {
    pub fn new() -> Coalescer {
        Coalescer {
            peer: Peer(u32::MAX),
            polls: (0, 0),
            count: 0,
            coalescing: false,
            expected: 0,
            last: Time(0),
            announced: false,
            coalesced: 0,
            bytes: 0,
            since: Time(0),
            distrusted_until: Time(0),
            distrust_ns: coalesce::DISTRUST_MIN_NS,
            kept: 0,
        }
    }

    /// Decides when the next message leaves. `more`: the program says that another one follows at once.
    #[inline]
    pub fn next(&mut self, peer: Peer, more: bool, polls: (u64, u32), now: Time) -> Departure {
        let gap = if self.coalesced > 0 { coalesce::GAP_NS } else { coalesce::GAP_AFTER_CALL_NS };
        let follows = peer == self.peer && polls == self.polls && now.since_ns(self.last) <= gap;
        if !follows {
            return self.begin(peer, more, polls, now);
        }
        (self.count, self.last) = (self.count + 1, now);
        // The last message of an announced series is coalesced with the others, and takes them along.
        let announced = more || self.announced;
        let trusted = self.count > coalesce::FIRST && now >= self.distrusted_until;
        self.coalescing |= self.count > coalesce::FIRST;
        if !announced && !trusted {
            Departure::Now
        } else if self.coalesced > 0 && now.since_ns(self.since) > coalesce::AGE_MAX_NS {
            Departure::AfterCoalesced
        } else {
            Departure::Coalesced
        }
    }

    #[inline]
    fn begin(&mut self, peer: Peer, more: bool, polls: (u64, u32), now: Time) -> Departure {
        if self.coalescing {
            self.polled(now);
        }
        (self.peer, self.polls, self.count, self.last, self.announced) = (peer, polls, 1, now, false);
        match (self.coalesced > 0, more) {
            (true, _) => Departure::AfterCoalesced,
            (false, true) => Departure::Coalesced,
            (false, false) => Departure::Now,
        }
    }

    /// Whether it matters when the program polls next.
    #[inline(always)]
    pub fn is_coalescing(&self) -> bool {
        self.coalescing
    }

    /// A message of `len` bytes is coalesced. True if no more should be, so that all must leave now.
    pub fn add(&mut self, len: usize, more: bool, now: Time) -> bool {
        if self.coalesced == 0 {
            self.since = now;
        }
        self.coalescing = true;
        (self.coalesced, self.bytes) = (self.coalesced + 1, self.bytes + len + coalesce::HEAD_BYTES);
        let announced = std::mem::replace(&mut self.announced, more);
        let complete = !more && (announced || self.count == self.expected);
        complete || self.coalesced >= coalesce::MESSAGES_MAX || self.bytes >= coalesce::BYTES_MAX
    }

    /// Whether any coalesced message waits.
    #[inline]
    pub fn has_messages(&self) -> bool {
        self.coalesced > 0
    }

    /// What was coalesced leaves.
    pub fn release(&mut self) {
        (self.coalesced, self.bytes) = (0, 0);
    }

    /// The program does something else after a series: it polls, sends to another peer, or sends on after a
    /// pause.
    pub fn polled(&mut self, now: Time) {
        if self.coalesced > 0 && now.since_ns(self.last) > coalesce::AWAY_NS {
            self.abandon(now);
        } else {
            self.keep(now);
            self.end_series();
        }
    }

    /// The program has left none of a series' messages behind.
    fn keep(&mut self, now: Time) {
        if now >= self.distrusted_until {
            self.kept += 1;
            if self.kept == coalesce::KEPT {
                (self.distrust_ns, self.kept) = ((self.distrust_ns / 2).max(coalesce::DISTRUST_MIN_NS), 0);
            }
        }
    }

    /// The program has left messages behind: the helper had to send them, or should have.
    pub fn abandon(&mut self, now: Time) {
        self.end_series();
        self.distrusted_until = Time(now.0.saturating_add(self.distrust_ns));
        (self.distrust_ns, self.kept) = ((self.distrust_ns * 2).min(coalesce::DISTRUST_MAX_NS), 0);
    }

    fn end_series(&mut self) {
        (self.expected, self.count, self.coalescing, self.announced) = (self.count, 0, false, false);
    }
}

#[cfg(test)]
mod tests;
