//! The protocols that are checked, what their models cover, and the defects that they cannot or need not
//! find.

use crate::check::{Excuse, Protocol, Scenario};
use crate::plan::Defect;
use crate::scenarios::{biased_lock, coalesce_watch, dual_copy, ring, senders, stats_page};

const fn scenario(name: &'static str, run: fn(), preemptions: usize) -> Scenario {
    Scenario { name, run, preemptions, deadly: false }
}

const fn deadly(name: &'static str, run: fn(), preemptions: usize) -> Scenario {
    Scenario { name, run, preemptions, deadly: true }
}

const fn weaker(source: &'static str, reason: &'static str) -> Excuse {
    Excuse { defect: Defect::Weaker, source, reason }
}

const fn late(source: &'static str, reason: &'static str) -> Excuse {
    Excuse { defect: Defect::Late, source, reason }
}

/// The endpoint's lock, which a program that calls alone takes by plain stores, and its helper thread with
/// membarrier(2).
///
/// Covered: a program that calls once or twice, waiting for the lock or not, a helper that visits twice, and
/// the promise to call alone at any moment. Not covered: a program that breaks its promise, and a kernel
/// whose membarrier(2) fails.
pub const BIASED_LOCK: Protocol = Protocol {
    name: "biased lock",
    files: &["biased_lock.rs"],
    late: true,
    scenarios: &[
        scenario("a program that calls alone", biased_lock::alone, 3),
        scenario("a program that does not wait", biased_lock::trying, 3),
        scenario("a program that has promised nothing", biased_lock::not_alone, 3),
        scenario("a promise while the helper visits", biased_lock::promise, 3),
    ],
    excuses: &[
        weaker(
            "self.inside.store(false, Ordering::Release);",
            "the model's fence before it releases as well, unlike that of a program without a membarrier",
        ),
        weaker(
            "let said = self.wanted.swap(true, Ordering::SeqCst);",
            "the barrier that follows orders it, and without one it was ordered at an earlier visit",
        ),
    ],
};

const FLAG: &str = "a flag that is set once: nothing else is read because of it";
const IN_ORDER: &str =
    "loom takes the read-modify-writes of a thread in the order of the program; a late one is found";
const SET_UP: &str = "the order among these stores is free: the store of the state comes after all of them";

/// The outboxes and the inbox of a segment: records, wrapping, doorbells, slots that change hands.
///
/// Covered: one sender with up to four records of one to 31 cache lines, two senders at once that ring the
/// doorbell, a receiver that falls asleep, slots that are opened, closed, freed and opened again, and a
/// sender that is killed between any two accesses, with a successor. Not covered: more than two slots, the
/// closing of a segment under a sender, and peers that do not follow the protocol.
pub const RING: Protocol = Protocol {
    name: "ring",
    files: &["outbox/mod.rs", "outbox/open.rs", "outbox/push.rs", "segment.rs", "senders.rs", "record.rs"],
    late: true,
    scenarios: &[
        scenario("short records", ring::short_records, 3),
        scenario("round the ring", ring::round_the_ring, 3),
        scenario("short records round the ring", ring::short_round_the_ring, 3),
        scenario("falling asleep at a short record", ring::asleep_at_a_line, 2),
        scenario("falling asleep at a longer record", ring::asleep_at_a_record, 2),
        scenario("falling asleep at the ring's end", ring::asleep_at_the_end, 2),
        scenario("two ring the bell", ring::two_ring_the_bell, 2),
        scenario("coming and going", senders::coming_and_going, 3),
        scenario("closing", senders::closing, 3),
        deadly("killed at any moment", senders::killed_at_any_moment, 2),
    ],
    excuses: &[
        weaker(
            "if bell.load(Ordering::SeqCst) & bit == 0",
            "the exchange that published the record, or the fence of closing, comes before it and orders it",
        ),
        weaker("bell.fetch_or(bit, Ordering::AcqRel);", IN_ORDER),
        weaker("fetch_or(1 << (self.index / 64), Ordering::AcqRel);", IN_ORDER),
        weaker("let words = self.map.word(AT_RUNG).swap(0, Ordering::AcqRel);", IN_ORDER),
        weaker("let rung = self.map.word(geometry.bell(word)).swap(0, Ordering::AcqRel);", IN_ORDER),
        weaker("self.map.half(AT_CLOSED).load(Ordering::Acquire)", FLAG),
        weaker("self.map.half(self.slot() + SLOT_SHUT).load(Ordering::Acquire)", FLAG),
        weaker("self.map.half(AT_CLOSED).store(1, Ordering::Release);", FLAG),
        weaker(
            "self.map.word(self.slot() + SLOT_TAIL).load(Ordering::Acquire) == self.head",
            "it says that all has been received, and nothing else is read because of it",
        ),
        weaker(
            "self.map.half(self.slot() + SLOT_STATE).store(CLOSED, Ordering::Release);",
            "the model's fence of the exchange before it, which published the last record, releases as well",
        ),
        weaker(
            "self.map.half(slot + SLOT_STATE).store(OPEN, Ordering::Release);",
            "the receiver looks at a slot of a living sender when that has rung, which orders it as well",
        ),
        weaker(
            "let state = self.map.half(at).load(Ordering::Acquire);",
            "before anything is read because of it the state is loaded once more, by `wake`",
        ),
        late("self.map.word(ring).store(0, Ordering::Relaxed);", SET_UP),
        late(".for_each(|at| self.map.word(slot + at).store(0, Ordering::Relaxed));", SET_UP),
        late("store(std::process::id(), Ordering::Relaxed);", SET_UP),
        late("self.map.word(slot + SLOT_TAIL).store(0, Ordering::Relaxed);", SET_UP),
        late("self.map.half(slot + SLOT_SHUT).store(0, Ordering::Relaxed);", SET_UP),
        late(
            "self.map.half(slot + SLOT_ARMED).store(1, Ordering::Relaxed);",
            "the next sender rings in any case when it comes, and by its answer the bell is armed",
        ),
        late(
            "self.map.half(slot + SLOT_ARMED).store(0, Ordering::Relaxed);",
            "a sender rings once more than it need",
        ),
        late("self.map.half(armed).store(0, Ordering::Relaxed);", "a sender rings once more than it need"),
    ],
};

const CLAIM: &str = "the word says all: which bytes there are to copy, and not what they are";

/// A dual copy: a long copy that both ends make.
///
/// Covered: a copy of 24 units with one or two parts of the sender, a sender that finds that it cannot write,
/// and a second copy right after the first. Not covered: a peer that dies meanwhile, longer copies, and ends
/// that do not follow the protocol.
pub const DUAL_COPY: Protocol = Protocol {
    name: "dual copy",
    files: &["dual_copy/receiver.rs", "dual_copy/sender.rs"],
    late: false,
    scenarios: &[
        scenario("both ends write", dual_copy::both_write, 4),
        scenario("the sender fails", dual_copy::sender_fails, 4),
        scenario("one after the other", dual_copy::one_after_the_other, 3),
    ],
    excuses: &[
        weaker(
            "store(Claims { generation, front: 0, back: 0 }.word(), Ordering::Release);",
            "the sender learns of the copy by a record in the ring, which orders it as well",
        ),
        weaker("let seen = word.load(Ordering::Acquire);", CLAIM),
        weaker("word.compare_exchange(seen, claimed, Ordering::AcqRel, Ordering::Relaxed)", CLAIM),
        weaker("word.compare_exchange(seen, wanted, Ordering::AcqRel, Ordering::Relaxed)", CLAIM),
    ],
};

/// Coalesced messages, and the helper that looks after them, behind the biased lock.
///
/// Covered: a program that sends two or three messages and goes off, and a helper that is asked, watches,
/// leaves, or ends. Not covered: when a message is old; the model's clock says that all are.
pub const COALESCE_WATCH: Protocol = Protocol {
    name: "coalescing watchdog",
    files: &["coalesce_watch.rs"],
    late: true,
    scenarios: &[
        scenario("asking for the helper", coalesce_watch::asking, 3),
        scenario("the helper watches", coalesce_watch::watching, 3),
        scenario("the helper leaves", coalesce_watch::leaving, 3),
        scenario("the helper ends", coalesce_watch::ending, 2),
    ],
    excuses: &[
        late(
            "self.watched.store(watched, Ordering::Relaxed);",
            "for a moment longer the program coalesces nothing, or coalesces what the helper still sends",
        ),
        late(
            "self.wanted.store(watched, Ordering::Relaxed);",
            "for a moment longer the program does not ask, and asks at its next message",
        ),
        late(
            "self.0.watched.store(false, Ordering::Relaxed);",
            "the helper's end comes after it in any case",
        ),
        late(
            "self.0.wanted.store(true, Ordering::Relaxed);",
            "the program wakes once, for nothing, a thread that has ended",
        ),
    ],
};

/// Records of the statistics page: a seqlock.
///
/// Covered: a record of two words that is written twice, or taken off the page and written anew, while it is
/// read. The kernel copies each word at once, and words in any order. Not covered: a reader that is away for
/// 2^63 writes.
pub const STATS_PAGE: Protocol = Protocol {
    name: "statistics page",
    files: &["seqlock.rs"],
    late: true,
    scenarios: &[
        scenario("written while it is read", stats_page::written_while_read, 3),
        scenario("replaced while it is read", stats_page::replaced_while_read, 3),
    ],
    excuses: &[weaker(
        "map.word(at).store(0, Ordering::Release);",
        "an erased record has no words that belong to it",
    )],
};
