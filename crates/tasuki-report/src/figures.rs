//! The figures of a job.

use crate::warnings::warnings;
use serde::Serialize;
use std::collections::BTreeMap;
use tasuki_load::NicUse;
use tasuki_trace::{Direction, Event, Joined};

/// How one rank spent its time, from its first message to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RankTime {
    /// The rank.
    pub rank: u32,
    /// Outside of MPI, seconds.
    pub computing: f64,
    /// In MPI from receives on, until the rank went on: it waits for a message, or copies it; seconds.
    pub receiving: f64,
    /// In MPI from sends on, likewise; seconds.
    pub sending: f64,
    /// Messages that it sent.
    pub messages: u64,
    /// Bytes that it sent.
    pub bytes: u64,
}

impl RankTime {
    /// All of it, seconds.
    pub fn seconds(&self) -> f64 {
        self.computing + self.receiving + self.sending
    }
}

/// Messages of one class of sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SizeClass {
    /// The longest that belongs to it, bytes; the shortest is one byte longer than that of the class before.
    pub longest: u64,
    /// How many there were.
    pub messages: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// What one rank sent to another one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pair {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Messages.
    pub messages: u64,
    /// Bytes.
    pub bytes: u64,
    /// How long the receiver was in MPI for them, seconds.
    pub waited: f64,
}

/// The record of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Program and arguments.
    pub program: String,
    /// From the start of the launcher to its end, seconds.
    pub seconds: f64,
    /// Ranks, in order.
    pub ranks: Vec<RankTime>,
    /// Messages by size, the shortest first.
    pub sizes: Vec<SizeClass>,
    /// Pairs of ranks, those first of which the receiver waited longest.
    pub pairs: Vec<Pair>,
    /// What NICs carried meanwhile, of all programs.
    pub nics: Vec<NicUse>,
    /// What is worth a look, in words.
    pub warnings: Vec<String>,
}

impl Report {
    /// Of a job that took `seconds`.
    pub fn of(program: String, seconds: f64, trace: &Joined, nics: Vec<NicUse>) -> Self {
        let (mut ranks, mut sizes, mut pairs) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for (number, (events, end)) in (0..).zip(trace.ranks.iter().zip(&trace.ends)) {
            let mut rank = RankTime { rank: number, computing: in_seconds(*end), ..RankTime::default() };
            for (index, event) in events.iter().enumerate() {
                rank.computing += in_seconds(event.compute);
                let spent = spent(event, events.get(index + 1));
                let (from, to) = match event.direction {
                    Direction::Send => (number, event.peer),
                    Direction::Receive => (event.peer, number),
                };
                let pair: &mut Pair =
                    pairs.entry((from, to)).or_insert_with(|| Pair { from, to, ..Pair::default() });
                if event.direction == Direction::Receive {
                    rank.receiving += spent;
                    pair.waited += spent;
                    continue;
                }
                rank.sending += spent;
                rank.messages += 1;
                rank.bytes += event.bytes;
                pair.messages += 1;
                pair.bytes += event.bytes;
                let longest = class(event.bytes);
                let class: &mut SizeClass =
                    sizes.entry(longest).or_insert_with(|| SizeClass { longest, ..SizeClass::default() });
                class.messages += 1;
                class.bytes += event.bytes;
            }
            ranks.push(rank);
        }
        let mut pairs: Vec<Pair> = pairs.into_values().collect();
        pairs.sort_by(|one, other| other.waited.total_cmp(&one.waited));
        let sizes = sizes.into_values().collect();
        let mut report = Self { program, seconds, ranks, sizes, pairs, nics, warnings: Vec::new() };
        report.warnings = warnings(&report, trace);
        report
    }

    /// The mean share of ranks' time that they spend in MPI, 0 to 1.
    pub fn share_in_mpi(&self) -> f64 {
        let total: f64 = self.ranks.iter().map(RankTime::seconds).sum();
        let computing: f64 = self.ranks.iter().map(|rank| rank.computing).sum();
        if total > 0.0 { 1.0 - computing / total } else { 0.0 }
    }
}

fn in_seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// How long a rank stayed in MPI for an event: until it began to compute before the next one, seconds. After
/// its last event that is not known.
fn spent(event: &Event, next: Option<&Event>) -> f64 {
    next.map_or(0.0, |next| in_seconds(next.at.saturating_sub(next.compute).saturating_sub(event.at)))
}

/// The class of a message: the next power of four, from 64 bytes on; messages without bytes have their own.
fn class(bytes: u64) -> u64 {
    if bytes == 0 {
        return 0;
    }
    let mut longest = 64_u64;
    while longest < bytes {
        longest = longest.saturating_mul(4);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_trace::LeftOut;

    pub(super) fn event(direction: Direction, peer: u32, bytes: u64, compute: u64, at: u64) -> Event {
        Event { direction, peer, bytes, compute: compute * 1_000_000_000, at: at * 1_000_000_000 }
    }

    /// Rank 0 computes 1 s and sends 100 bytes twice, 5 s apart, to rank 1, which waits for them.
    pub(super) fn two_ranks() -> Joined {
        Joined {
            ranks: vec![
                vec![event(Direction::Send, 1, 100, 1, 0), event(Direction::Send, 1, 100, 5, 5)],
                vec![event(Direction::Receive, 0, 100, 0, 0), event(Direction::Receive, 0, 100, 1, 6)],
            ],
            ends: vec![2_000_000_000, 0],
            left_out: LeftOut::default(),
        }
    }

    #[test]
    fn time_goes_to_computing_and_to_whom_is_waited_for() {
        let report = Report::of("a".into(), 9.0, &two_ranks(), Vec::new());
        let [sender, receiver] = &report.ranks[..] else { panic!("two ranks: {report:?}") };
        assert_eq!((sender.computing, sender.sending, sender.messages, sender.bytes), (8.0, 0.0, 2, 200));
        assert_eq!((receiver.computing, receiver.receiving), (1.0, 5.0));
        let pair = Pair { from: 0, to: 1, messages: 2, bytes: 200, waited: 5.0 };
        assert_eq!(report.pairs, [pair], "a message is counted once");
        assert_eq!(report.sizes, [SizeClass { longest: 256, messages: 2, bytes: 200 }]);
        assert!((report.share_in_mpi() - 5.0 / 14.0).abs() < 1e-9);
    }

    #[test]
    fn classes_are_powers_of_four() {
        let classes = [0, 1, 64, 65, 256, 257, u64::MAX].map(class);
        assert_eq!(classes, [0, 64, 64, 256, 256, 1024, u64::MAX]);
    }
}
