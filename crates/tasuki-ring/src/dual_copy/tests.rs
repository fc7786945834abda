//! What both ends of a dual copy do, tried in one process.

use std::ops::Range;

use super::words::{Claims, MASK, UNIT, Written, receivers_part, senders_part, units};
use super::{Corrupt, DualCopy, DualCopyOffer, Part, SendersShare};
use crate::layout::{SLOT_CLAIMS, SLOT_WRITTEN};
use crate::sync::Ordering;
use crate::{Outbox, Segment, Slot};
use tasuki_tuning::dual_copy::{UNITS_MAX, UNITS_MIN};

#[test]
fn words_are_read_back() {
    for generation in [0, 1, u16::MAX] {
        for units in [0, 1, MASK as u32] {
            let claims = Claims { generation, front: units, back: MASK as u32 - units };
            assert_eq!(Claims::from_word(claims.word()), claims);
            for failed in [false, true] {
                let written = Written { generation, failed, units };
                assert_eq!(Written::from_word(written.word()), written);
            }
        }
    }
}

#[test]
fn parts_end_and_none_is_too_small_but_for_the_last() {
    for rest in 1..5000 {
        let all = [(true, true), (true, false), (false, true), (false, false)];
        let receivers = all.map(|(first, alone)| receivers_part(rest, first, alone));
        for part in receivers.into_iter().chain([senders_part(rest)]) {
            assert!(part <= rest && part >= UNITS_MIN.min(rest), "{part} of {rest}");
        }
        assert!(senders_part(rest) <= UNITS_MAX);
    }
}

fn pair() -> (Segment, Outbox, Slot) {
    let token = crate::Token::random().expect("random");
    let options =
        crate::SegmentOptions { ring_bytes: 4096, max_peers: 1, ..crate::SegmentOptions::new(token) };
    let mut segment = Segment::create(&options).expect("a segment");
    let mut outbox = Outbox::open(&token, &token).expect("a slot");
    assert!(outbox.push(1, |_| {}));
    let mut slot = None;
    segment.receive(1, |from, _| {
        slot = Some(from);
        crate::Verdict::Consumed
    });
    (segment, outbox, slot.expect("a sender"))
}

fn seed() -> u64 {
    let command = "cargo test -p tasuki-ring --lib dual_copy";
    tasuki_testkit::replay::Replay { variable: "TASUKI_SEED", command }.one(|| u64::from(std::process::id()))
}

/// Both ends claim in any order, and the sender may stop being able to: every byte is copied once, and the
/// receiver waits for what is not written and for nothing else.
#[test]
fn every_byte_is_copied_once() {
    let mut random = tasuki_random::Random::new(seed());
    let (segment, mut outbox, slot) = pair();
    for _ in 0..2000 {
        let bits = random.below(24);
        let len = random.below(1 << bits);
        let mut dual_copy = DualCopy::begin(&mut outbox, len).expect("it can be counted");
        let offer = DualCopyOffer { slot, generation: dual_copy.generation(), len };
        // The bytes that either end has copied.
        let mut copies: Vec<Range<u64>> = Vec::new();
        let (mut part, mut able, mut claiming) = (None::<Part<'_>>, true, true);
        while claiming || part.is_some() {
            match random.below(4) {
                0 if claiming => match dual_copy.claim(&outbox).expect("it is sound") {
                    Some(bytes) => copies.push(bytes),
                    None => claiming = false,
                },
                1 if able && part.is_none() => part = segment.claim_part(&offer),
                2 if part.is_some() => {
                    assert!(claiming || dual_copy.sender(&outbox) == SendersShare::Awaited);
                    let part = part.take().expect("just seen");
                    if random.below(8) > 0 {
                        copies.push(part.bytes());
                        part.done();
                    } else {
                        able = false;
                        part.failed();
                    }
                }
                _ => {}
            }
        }
        match dual_copy.sender(&outbox) {
            SendersShare::Written => {}
            SendersShare::Refused(bytes) => copies.push(bytes),
            other => panic!("{other:?}"),
        }
        assert!(segment.claim_part(&offer).is_none(), "all is claimed");
        copies.sort_by_key(|bytes| bytes.start);
        let end = copies.iter().fold(0, |at, bytes| {
            assert!(bytes.start == at && bytes.end > at, "{bytes:?} after {at} of {len}");
            bytes.end
        });
        assert_eq!(end, len);
    }
}

#[test]
fn what_a_faulty_end_writes_is_not_believed() {
    let (segment, mut outbox, slot) = pair();
    let len = 100 * UNIT;
    for front in [0, 1, 50, 100, MASK as u32] {
        for back in [0, 1, 50, 100, MASK as u32] {
            for generation in [0, 1] {
                let mut dual_copy = DualCopy::begin(&mut outbox, len).expect("it can be counted");
                let generation = dual_copy.generation() + generation;
                let claims = Claims { generation, front, back };
                outbox.word(SLOT_CLAIMS).store(claims.word(), Ordering::Relaxed);
                let offer = DualCopyOffer { slot, generation: dual_copy.generation(), len };
                if let Some(part) = segment.claim_part(&offer) {
                    let bytes = part.bytes();
                    assert!(bytes.start < bytes.end && bytes.end <= len);
                    part.done();
                }
                if front == 0 && back <= 100 && generation == dual_copy.generation() {
                    continue;
                }
                assert_eq!(dual_copy.claim(&outbox), Err(Corrupt));
                assert_eq!(dual_copy.sender(&outbox), SendersShare::Corrupt);
            }
        }
    }
    let mut dual_copy = DualCopy::begin(&mut outbox, len).expect("it can be counted");
    while dual_copy.claim(&outbox).expect("it is sound").is_some() {}
    assert_eq!(dual_copy.sender(&outbox), SendersShare::Written);
    for (generation, units) in [(dual_copy.generation(), 1), (dual_copy.generation() + 1, 0)] {
        let word = Written { generation, failed: false, units }.word();
        outbox.word(SLOT_WRITTEN).store(word, Ordering::Relaxed);
        assert_eq!(dual_copy.sender(&outbox), SendersShare::Corrupt);
    }
}

#[test]
fn an_offer_ends_with_the_next_and_with_its_receiver() {
    let (mut segment, mut outbox, slot) = pair();
    let first = DualCopy::begin(&mut outbox, 1 << 20).expect("it can be counted");
    let offer =
        |dual_copy: &DualCopy| DualCopyOffer { slot, generation: dual_copy.generation(), len: 1 << 20 };
    let second = DualCopy::begin(&mut outbox, 1 << 20).expect("it can be counted");
    assert!(segment.claim_part(&offer(&first)).is_none());
    segment.claim_part(&offer(&second)).expect("nobody has claimed it").done();
    drop(outbox);
    segment.reap(|_, _, _| {});
    assert!(segment.claim_part(&offer(&second)).is_none());
}

#[test]
fn what_is_too_long_is_not_counted() {
    assert_eq!(units(0), Some(0));
    assert_eq!(units(UNIT + 1), Some(2));
    assert_eq!(units(MASK * UNIT), Some(MASK as u32));
    assert_eq!(units(MASK * UNIT + 1), None);
    assert_eq!(units(u64::MAX), None);
}
