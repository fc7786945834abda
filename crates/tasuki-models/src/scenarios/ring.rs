//! Records in the rings of a segment.
//!
//! A record's payload says its number, in all of its bytes: what is read before it was written, or after
//! something else was, is another. loom finds a read of payload that is not ordered after its writing,
//! whatever was read.

use std::path::Path;

use loom::thread;

use crate::layout::{Geometry, LINE};
use crate::map::{self, Shape};
use crate::record::{Peek, Record};
use crate::{Outbox, Segment, SegmentOptions, Token, Verdict};
use tasuki_tuning::segments::IDLE_VISITS_MAX;

const FOLDER: &str = "/model";
const RING_BYTES: usize = 4096;
pub(super) const RING_LINES: usize = RING_BYTES / LINE;
/// Visits that are enough to find all that waits, when nobody sends any more.
pub(super) const VISITS: usize = 4;

pub(super) fn token(number: u8) -> Token {
    Token::from_bytes([number; 16])
}

pub(super) fn segment(max_peers: usize) -> Segment {
    map::shape(Shape::Segment(Geometry::new(max_peers, RING_BYTES).expect("sizes that there may be")));
    let options = SegmentOptions { token: token(0), ring_bytes: RING_BYTES, max_peers };
    Segment::create_in(Path::new(FOLDER), &options).expect("a segment")
}

pub(super) fn open(number: u8) -> Option<Outbox> {
    Outbox::open_in(Path::new(FOLDER), &token(0), &token(number)).ok()
}

/// A segment and its only sender, which the receiver knows.
pub(super) fn pair() -> (Segment, Outbox) {
    let mut segment = segment(1);
    let outbox = open(1).expect("a slot");
    assert_eq!(segment.receive_raw(1, |_, _| Verdict::Consumed), 0);
    assert!(matches!(segment.peek(), Peek::Nothing), "the lane is active");
    (segment, outbox)
}

/// Pushes a record that takes so many cache lines; false if there is no room.
fn push(outbox: &mut Outbox, number: u8, lines: usize) -> bool {
    outbox.push(lines * LINE - 8, |bytes| bytes.fill(number))
}

/// Pushes a record by the way of those that take one cache line.
pub(super) fn push_line(outbox: &mut Outbox, number: u8) {
    let mut line = outbox.cache_line().expect("room");
    line.bytes().fill(number);
    line.push(16);
}

pub(super) fn read(record: &Record<'_>) -> u8 {
    let mut bytes = vec![0; record.len()];
    assert!(record.copy_to(0, &mut bytes));
    assert!(bytes.iter().all(|&byte| byte == bytes[0]), "a record is torn");
    bytes[0]
}

/// One visit; appends the numbers of what was received.
pub(super) fn visit(segment: &mut Segment, got: &mut Vec<u8>) {
    segment.receive_raw(RING_LINES, |_, record| {
        got.push(read(record));
        Verdict::Consumed
    });
    assert_eq!(segment.stats().corrupt, 0, "the receiver found what no sender writes");
}

/// One look by the way of records that take one cache line.
fn look(segment: &mut Segment, got: &mut Vec<u8>) {
    let Peek::Found(found) = segment.peek() else { return };
    let record = segment.cache_line(found).expect("it takes one cache line");
    let number = read(&record.record());
    record.consume();
    got.push(number);
}

/// Two short records cross while the receiver looks for them, and one follows.
pub(crate) fn short_records() {
    let (mut segment, mut outbox) = pair();
    let sender = thread::spawn(move || {
        push_line(&mut outbox, 1);
        push_line(&mut outbox, 2);
        outbox
    });
    let mut got = Vec::new();
    (0..2).for_each(|_| look(&mut segment, &mut got));
    let mut outbox = sender.join().expect("no panic");
    push_line(&mut outbox, 3);
    (0..3).for_each(|_| look(&mut segment, &mut got));
    assert_eq!(got, [1, 2, 3]);
}

/// Long records go round the ring: the sender writes where the receiver has just read, over the ring's end
/// and at its beginning.
pub(crate) fn round_the_ring() {
    let (mut segment, mut outbox) = pair();
    assert!(push(&mut outbox, 1, 30) && push(&mut outbox, 2, 30), "an empty ring has room");
    let sender = thread::spawn(move || {
        // Four lines are left at the ring's end: this one leaves them out.
        let pushed = (0..2).any(|_| push(&mut outbox, 3, 8));
        let more = pushed && push(&mut outbox, 4, 1) && push(&mut outbox, 5, 3);
        (outbox, pushed, more)
    });
    let mut got = Vec::new();
    (0..2).for_each(|_| visit(&mut segment, &mut got));
    let (outbox, pushed, more) = sender.join().expect("no panic");
    assert_eq!(pushed, more, "where eight lines were free four more are");
    (0..2).for_each(|_| visit(&mut segment, &mut got));
    let all = [(true, 1), (true, 2), (pushed, 3), (more, 4), (more, 5)];
    let expected: Vec<u8> = all.into_iter().filter(|&(sent, _)| sent).map(|(_, number)| number).collect();
    assert_eq!(got, expected);
    assert!(outbox.is_drained());
}

/// Short records go round the ring: the sender writes into the cache lines that the receiver has just read.
pub(crate) fn short_round_the_ring() {
    let (mut segment, mut outbox) = pair();
    // All but the line that stays free.
    let sizes = [(1, 1), (2, 1), (3, 30), (4, 31)];
    assert!(
        sizes.into_iter().all(|(number, lines)| push(&mut outbox, number, lines)),
        "an empty ring has room"
    );
    let sender = thread::spawn(move || {
        let pushed = (5..8).filter(|&number| push(&mut outbox, number, 1)).collect::<Vec<u8>>();
        (outbox, pushed)
    });
    let mut got = Vec::new();
    (0..2).for_each(|_| look(&mut segment, &mut got));
    let (_outbox, pushed) = sender.join().expect("no panic");
    (0..VISITS).for_each(|_| visit(&mut segment, &mut got));
    assert_eq!(got, [&[1, 2, 3, 4], pushed.as_slice()].concat());
}

/// The receiver stops looking at the ring while the sender pushes two records: none is left lying.
fn falling_asleep(segment: &mut Segment, mut outbox: Outbox, pushes: [fn(&mut Outbox, u8); 2]) {
    let sender = thread::spawn(move || {
        for (number, push) in [1, 2].into_iter().zip(pushes) {
            push(&mut outbox, number);
        }
        outbox
    });
    let mut got = Vec::new();
    for _ in 0..2 {
        segment.lanes[0].idle_visits = IDLE_VISITS_MAX;
        visit(segment, &mut got);
    }
    let _outbox = sender.join().expect("no panic");
    (0..VISITS).for_each(|_| visit(segment, &mut got));
    assert_eq!(got, [1, 2], "a record is left lying");
}

/// The last record that the sender pushes takes one cache line.
pub(crate) fn asleep_at_a_line() {
    let (mut segment, outbox) = pair();
    falling_asleep(&mut segment, outbox, [|outbox, number| assert!(push(outbox, number, 2)), push_line]);
}

/// The last record that the sender pushes takes more than one cache line.
pub(crate) fn asleep_at_a_record() {
    let (mut segment, outbox) = pair();
    falling_asleep(&mut segment, outbox, [push_line, |outbox, number| assert!(push(outbox, number, 2))]);
}

/// The last record that the sender pushes is at the ring's beginning, since it does not fit at the end.
pub(crate) fn asleep_at_the_end() {
    let (mut segment, mut outbox) = pair();
    let mut before = Vec::new();
    for lines in [32, 28] {
        assert!(push(&mut outbox, 0, lines));
        visit(&mut segment, &mut before);
    }
    falling_asleep(&mut segment, outbox, [push_line, |outbox, number| assert!(push(outbox, number, 8))]);
}

/// Two senders of a receiver that looks at neither ring push at the same time.
pub(crate) fn two_ring_the_bell() {
    let mut segment = segment(2);
    let outboxes = [1, 2].map(|number| open(number).expect("a slot"));
    let mut got = Vec::new();
    visit(&mut segment, &mut got);
    for lane in &mut segment.lanes {
        lane.idle_visits = IDLE_VISITS_MAX;
    }
    visit(&mut segment, &mut got);
    assert!(segment.active.is_empty(), "both sleep");
    let senders = outboxes.map(|mut outbox| {
        thread::spawn(move || {
            push_line(&mut outbox, 1);
            outbox
        })
    });
    visit(&mut segment, &mut got);
    let _outboxes = senders.map(|sender| sender.join().expect("no panic"));
    (0..VISITS).for_each(|_| visit(&mut segment, &mut got));
    assert_eq!(got, [1, 1]);
}
