//! The two ends of a copy that both make.

use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

use loom::thread;

use crate::dual_copy::{DualCopy, DualCopyOffer, SendersShare};
use crate::layout::Geometry;
use crate::map::{self, Shape};
use crate::plain::Plain;
use crate::{Outbox, Segment, SegmentOptions, Slot, Token, Verdict};

const FOLDER: &str = "/model";
const RING_BYTES: usize = 4096;
/// Bytes of the copy: each end can claim two parts.
const LEN: u64 = 24 * 4096;
/// What one byte of the receiver's memory stands for.
const SCALE: u64 = 4096;

/// The memory that both write to.
fn target() -> Rc<Plain> {
    // One cache line for each unit of the protocol: the memory is watched by the line.
    Rc::new(Plain::new((LEN / SCALE) as usize * 64))
}

fn write(target: &Plain, bytes: Range<u64>, value: u8) {
    for unit in bytes.start / SCALE..bytes.end.div_ceil(SCALE) {
        target.writable(unit as usize * 64, 1)[0] += value;
    }
}

/// The receiver's end has an outbox to the sender's segment.
fn pair() -> (Segment, Outbox, Slot) {
    map::shape(Shape::Segment(Geometry::new(1, RING_BYTES).expect("sizes that there may be")));
    let name = Token::from_bytes([0; 16]);
    let options = SegmentOptions { token: name, ring_bytes: RING_BYTES, max_peers: 1 };
    let mut segment = Segment::create_in(Path::new(FOLDER), &options).expect("a segment");
    let mut outbox = Outbox::open_in(Path::new(FOLDER), &name, &name).expect("a slot");
    assert!(outbox.push(1, |_| {}));
    let mut slot = None;
    segment.receive_raw(1, |from, _| {
        slot = Some(from);
        Verdict::Consumed
    });
    (segment, outbox, slot.expect("a sender"))
}

/// Claims and writes parts until there are no more, or at most so many, the last of which may fail.
fn send(segment: &Segment, offer: &DualCopyOffer, target: &Plain, parts: usize, fails: bool) {
    for number in 0..parts {
        let Some(part) = segment.claim_part(offer) else { return };
        if fails && number + 1 == parts {
            return part.failed();
        }
        write(target, part.bytes(), 1);
        part.done();
    }
}

/// The receiver copies what it claims and, when all is claimed, waits for the sender a little. True if it saw
/// the end of the copy, when every byte must have been written once.
fn receive(copy: &mut DualCopy, outbox: &Outbox, target: &Plain, looks: usize) -> bool {
    while let Some(bytes) = copy.claim(outbox).expect("both ends are sound") {
        write(target, bytes, 1);
    }
    for _ in 0..looks {
        match copy.sender(outbox) {
            SendersShare::Awaited => thread::yield_now(),
            SendersShare::Written => return all_written(target),
            SendersShare::Refused(bytes) => {
                write(target, bytes, 1);
                return all_written(target);
            }
            SendersShare::Corrupt => panic!("both ends are sound"),
        }
    }
    false
}

fn all_written(target: &Plain) -> bool {
    for unit in 0..LEN / SCALE {
        let mut byte = [0];
        target.read(unit as usize * 64, &mut byte);
        assert_eq!(byte, [1], "unit {unit} was written so often");
    }
    true
}

fn copy(fails: bool) {
    let (segment, mut outbox, slot) = pair();
    let target = target();
    let mut copy = DualCopy::begin(&mut outbox, LEN).expect("it can be counted");
    let offer = DualCopyOffer { slot, generation: copy.generation(), len: LEN };
    let memory = Rc::clone(&target);
    let sender = thread::spawn(move || {
        send(&segment, &offer, &memory, 2, fails);
        segment
    });
    let done = receive(&mut copy, &outbox, &target, 2);
    let _segment = sender.join().expect("no panic");
    assert!(done || receive(&mut copy, &outbox, &target, 1), "the sender has ended");
}

/// Both ends claim and write.
pub(crate) fn both_write() {
    copy(false);
}

/// The sender finds that it cannot write.
pub(crate) fn sender_fails() {
    copy(true);
}

/// A second copy begins as soon as the first has ended, over the same words; the sender learns of it by a
/// record, and may still ask for the first.
pub(crate) fn one_after_the_other() {
    let (mut segment, mut outbox, slot) = pair();
    let targets = [target(), target()];
    let mut first = DualCopy::begin(&mut outbox, LEN).expect("it can be counted");
    let memory = targets.clone();
    let old = DualCopyOffer { slot, generation: first.generation(), len: LEN };
    let sender = thread::spawn(move || {
        send(&segment, &old, &memory[0], 1, false);
        let mut generation = None;
        segment.receive(1, |_, bytes| {
            generation = Some(bytes[0]);
            Verdict::Consumed
        });
        if let Some(generation) = generation {
            let offer = DualCopyOffer { slot, generation: u16::from(generation), len: LEN };
            send(&segment, &offer, &memory[1], 1, false);
            assert!(segment.claim_part(&old).is_none(), "nobody waits for the first any more");
        }
        segment
    });
    if !receive(&mut first, &outbox, &targets[0], 1) {
        let _segment = sender.join().expect("no panic");
        return;
    }
    let mut second = DualCopy::begin(&mut outbox, LEN).expect("it can be counted");
    assert!(outbox.push(1, |bytes| bytes[0] = second.generation() as u8));
    let done = receive(&mut second, &outbox, &targets[1], 1);
    let _segment = sender.join().expect("no panic");
    assert!(done || receive(&mut second, &outbox, &targets[1], 1), "the sender has ended");
}
