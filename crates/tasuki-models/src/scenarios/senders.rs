//! Senders that come, go, and are killed.

use loom::thread;

use super::ring::{RING_LINES, VISITS, open, pair, push_line, read, segment, token, visit};
use crate::{Departure, Segment, Slot, Token, Verdict, plan};
use tasuki_tuning::segments::IDLE_VISITS_MAX;

/// What a receiver saw of senders that come and go.
#[derive(Default)]
struct Seen {
    /// Records, with the name of the sender that each is from.
    records: Vec<(Token, u8)>,
    departures: Vec<(Token, Departure)>,
}

impl Seen {
    fn visit(&mut self, segment: &mut Segment) {
        let mut got: Vec<(Slot, u8)> = Vec::new();
        segment.receive_raw(RING_LINES, |slot, record| {
            got.push((slot, read(record)));
            Verdict::Consumed
        });
        assert_eq!(segment.stats().corrupt, 0, "the receiver found what no sender writes");
        for (slot, number) in got {
            // One that has left during the visit has been forgotten.
            let name = segment.sender(slot).unwrap_or(token(number));
            self.records.push((name, number));
        }
    }

    fn reap(&mut self, segment: &mut Segment) {
        segment.reap(|_, name, departure| self.departures.push((name, departure)));
    }

    /// Visits and reaps until nothing is left to be found.
    fn finish(&mut self, segment: &mut Segment) {
        for _ in 0..VISITS {
            self.visit(segment);
            self.reap(segment);
        }
    }
}

/// A sender comes, sends and goes, and another takes its slot, while the receiver visits and reaps.
pub(crate) fn coming_and_going() {
    let mut segment = segment(1);
    let senders = thread::spawn(|| {
        let mut came = 0;
        for number in [1, 2] {
            if let Some(mut outbox) = open(number) {
                push_line(&mut outbox, number);
                came += 1;
            }
        }
        came
    });
    let mut seen = Seen::default();
    seen.visit(&mut segment);
    seen.reap(&mut segment);
    seen.visit(&mut segment);
    let came = senders.join().expect("no panic");
    seen.finish(&mut segment);
    let all = [1, 2].map(|number| (token(number), number));
    assert_eq!(seen.records, &all[..came]);
    assert_eq!(seen.departures, &all.map(|(name, _)| (name, Departure::Closed))[..came]);
}

/// A sender closes its outbox right after it has pushed. A receiver that visits, and does not reap, learns of
/// it.
pub(crate) fn closing() {
    let (mut segment, mut outbox) = pair();
    let mut got = Vec::new();
    segment.lanes[0].idle_visits = IDLE_VISITS_MAX;
    visit(&mut segment, &mut got);
    assert!(segment.active.is_empty(), "it sleeps");
    let sender = thread::spawn(move || push_line(&mut outbox, 1));
    (0..2).for_each(|_| visit(&mut segment, &mut got));
    sender.join().expect("no panic");
    (0..VISITS).for_each(|_| visit(&mut segment, &mut got));
    assert_eq!((got, segment.stats().departed), (vec![1], 1));
}

/// A sender is killed at any moment. What it has pushed before arrives, its slot becomes free, and the next
/// sender is heard.
pub(crate) fn killed_at_any_moment() {
    let mut segment = segment(1);
    let victim = thread::spawn(|| {
        let mut pushed = 0;
        plan::mortal(|| {
            let mut outbox = std::mem::ManuallyDrop::new(open(1).expect("a slot"));
            push_line(&mut outbox, 1);
            pushed = 1;
            std::mem::ManuallyDrop::into_inner(outbox);
        });
        pushed
    });
    let mut seen = Seen::default();
    seen.visit(&mut segment);
    seen.reap(&mut segment);
    let pushed = victim.join().expect("no panic");
    seen.finish(&mut segment);
    assert!(seen.records.len() >= pushed, "a record is lost");
    let mut outbox = open(2).expect("the slot is free");
    let before = seen.records.len();
    push_line(&mut outbox, 2);
    (0..VISITS).for_each(|_| seen.visit(&mut segment));
    assert_eq!(seen.records[before..], [(token(2), 2)], "the next sender is not heard");
}
