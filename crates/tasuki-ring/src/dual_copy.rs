//! A long copy that both ends make: which of them copies what.
//!
//! The receiver of a long message reads it out of its sender's memory, from the front, and the sender, if it has nothing else to do, writes from the
//! back. Two words in the receiver's slot of the sender's segment say how far both have got:
//!
//! * *claims*: how much either has claimed; whoever wants a part adds it by a compare-and-exchange, so that every byte is claimed once;
//! * *written*: how much of its claims the sender has written, or that it cannot.
//!
//! When all is claimed, the sender can claim no more, and what it has claimed and not written is the end of the rest: see [`DualCopy::sender`]. A slot has room
//! for one such copy at a time. Both words can be written by either end, so either checks what it reads, and works on nothing but its own idea of the copy.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::layout::{SLOT_CLAIMS, SLOT_WRITTEN};
use crate::{Outbox, Segment, Slot};

/// Parts are counted in these, bytes.
const UNIT: u64 = 4096;
/// Bits of a number of them.
const BITS: u32 = 24;
const MASK: u64 = (1 << BITS) - 1;
const FAILED: u64 = 1 << 47;

/// No part is smaller, units: a call of the kernel costs as much as the copy of some of them.
const LEAST: u32 = 8;
/// Nor is what the sender takes at once larger: the receiver has to wait for it, and whatever else comes to the sender has to wait as well.
const MOST: u32 = 64;

/// What `claims` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Claims {
    generation: u16,
    /// Units that the receiver has claimed, from the front.
    front: u32,
    /// And the sender, from the back.
    back: u32,
}

impl Claims {
    fn from_word(word: u64) -> Claims {
        let [front, back] = [word >> BITS, word].map(|bits| (bits & MASK) as u32);
        Claims { generation: (word >> 48) as u16, front, back }
    }

    fn word(self) -> u64 {
        u64::from(self.generation) << 48 | u64::from(self.front) << BITS | u64::from(self.back)
    }
}

/// What `written` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    generation: u16,
    /// The sender writes no more.
    failed: bool,
    units: u32,
}

impl Written {
    fn from_word(word: u64) -> Written {
        Written { generation: (word >> 48) as u16, failed: word & FAILED != 0, units: (word & MASK) as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.generation) << 48 | if self.failed { FAILED } else { 0 } | u64::from(self.units)
    }
}

/// Units of so many bytes; `None` if they are more than can be counted.
fn units(len: u64) -> Option<u32> {
    let units = len.div_ceil(UNIT);
    (units <= MASK).then_some(units as u32)
}

/// Bytes of some units of a copy of `len` bytes.
fn bytes(units: Range<u32>, len: u64) -> Range<u64> {
    let [start, end] = [units.start, units.end].map(|unit| (u64::from(unit) * UNIT).min(len));
    start..end
}

/// What the receiver claims next of `rest` units. Half of all at first: the other half is the sender's, if it comes. If it has not come by then, most of
/// the rest or all of it, as the fewer calls the sooner it is done.
fn receivers_part(rest: u32, first: bool, alone: bool) -> u32 {
    let part = match (first, alone) {
        (true, _) => rest.div_ceil(2),
        (false, true) if rest <= 4 * MOST => rest,
        (false, true) => rest - rest / 4,
        (false, false) => rest.div_ceil(2).min(MOST),
    };
    part.max(LEAST).min(rest)
}

/// What the sender claims next.
fn senders_part(rest: u32) -> u32 {
    let part = if rest <= MOST / 2 { rest } else { rest.div_ceil(2).min(MOST) };
    part.max(LEAST).min(rest)
}

/// What was read from shared memory cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

/// What the receiver must wait for when all is claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendersShare {
    /// Nothing: all that the sender has claimed is there.
    Written,
    /// The sender is writing, and until it has ended the memory belongs to it.
    Awaited,
    /// The sender could not write these bytes and writes no more.
    Refused(Range<u64>),
    /// See [`Corrupt`]. The sender may still be writing.
    Corrupt,
}

/// The receiver's end of a copy.
#[derive(Debug)]
pub struct DualCopy {
    generation: u16,
    len: u64,
    total: u32,
    /// Claimed by this end, units; never read back.
    front: u32,
    /// Claimed by the sender as seen last.
    back: u32,
    /// The claims could not be.
    corrupt: bool,
}

impl DualCopy {
    /// Begins a copy of `len` bytes over the slot of `outbox`, where none may be under way. `None`: it is too long to be counted.
    pub fn begin(outbox: &mut Outbox, len: u64) -> Option<DualCopy> {
        let total = units(len)?;
        let generation = outbox.next_dual_copy();
        let written = Written { generation, failed: false, units: 0 };
        outbox.word(SLOT_WRITTEN).store(written.word(), Ordering::Relaxed);
        // Release: who finds the claims finds that nothing is written.
        outbox.word(SLOT_CLAIMS).store(Claims { generation, front: 0, back: 0 }.word(), Ordering::Release);
        Some(DualCopy { generation, len, total, front: 0, back: 0, corrupt: false })
    }

    /// Its name, by which the sender finds it.
    pub fn generation(&self) -> u16 {
        self.generation
    }

    /// Claims the bytes that the receiver copies next. `None`: all is claimed.
    pub fn claim(&mut self, outbox: &Outbox) -> Result<Option<Range<u64>>, Corrupt> {
        let word = outbox.word(SLOT_CLAIMS);
        loop {
            let seen = word.load(Ordering::Acquire);
            let claims = Claims::from_word(seen);
            let own = claims.generation == self.generation && claims.front == self.front;
            if !own || claims.back < self.back || claims.back > self.total - self.front {
                self.corrupt = true;
                return Err(Corrupt);
            }
            self.back = claims.back;
            let rest = self.total - self.front - self.back;
            if rest == 0 {
                return Ok(None);
            }
            let front = self.front + receivers_part(rest, self.front == 0, self.back == 0);
            let claimed = Claims { front, ..claims }.word();
            if word.compare_exchange(seen, claimed, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                let part = bytes(self.front..front, self.len);
                self.front = front;
                return Ok(Some(part));
            }
        }
    }

    /// What the sender still owes, once [`DualCopy::claim`] has come to an end.
    pub fn sender(&self, outbox: &Outbox) -> SendersShare {
        // Acquire: after what it has written.
        let written = Written::from_word(outbox.word(SLOT_WRITTEN).load(Ordering::Acquire));
        if self.corrupt || written.generation != self.generation || written.units > self.back {
            return SendersShare::Corrupt;
        }
        match written {
            Written { units, .. } if units == self.back => SendersShare::Written,
            Written { units, failed: true, .. } => {
                SendersShare::Refused(bytes(self.total - self.back..self.total - units, self.len))
            }
            _ => SendersShare::Awaited,
        }
    }

    /// Bytes that the sender has claimed.
    pub fn senders_bytes(&self) -> u64 {
        let all = bytes(self.total - self.back..self.total, self.len);
        all.end - all.start
    }
}

/// The sender's end of a copy: what its receiver has told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualCopyOffer {
    /// Where the receiver writes in this endpoint's segment.
    pub slot: Slot,
    /// [`DualCopy::generation`].
    pub generation: u16,
    /// Length of the copy, bytes.
    pub len: u64,
}

/// A part that the sender has claimed. It must be ended, well or not: the receiver waits for it.
#[derive(Debug)]
#[must_use = "the receiver waits for it"]
pub struct Part<'a> {
    written: &'a AtomicU64,
    generation: u16,
    /// Units that are the sender's before and with it.
    before: u32,
    after: u32,
    len: u64,
    total: u32,
}

impl Part<'_> {
    /// Its bytes, within the offer's.
    pub fn bytes(&self) -> Range<u64> {
        bytes(self.total - self.after..self.total - self.before, self.len)
    }

    /// It has been written.
    pub fn done(self) {
        self.end(self.after, false);
    }

    /// It could not be written, and the sender will write no more.
    pub fn failed(self) {
        self.end(self.before, true);
    }

    fn end(&self, units: u32, failed: bool) {
        let word = Written { generation: self.generation, failed, units }.word();
        // Release: whatever was written is there.
        self.written.store(word, Ordering::Release);
    }
}

impl Segment {
    /// Claims what the sender writes next. `None`: nothing is left, or the copy is over.
    pub fn claim_part(&self, offer: &DualCopyOffer) -> Option<Part<'_>> {
        // Where nobody writes any more, or somebody else, nobody waits.
        self.sender(offer.slot)?;
        let total = units(offer.len)?;
        let word = self.slot_word(offer.slot, SLOT_CLAIMS);
        let written = self.slot_word(offer.slot, SLOT_WRITTEN);
        let generation = offer.generation;
        loop {
            let seen = word.load(Ordering::Acquire);
            let claims = Claims::from_word(seen);
            let claimed = u64::from(claims.front) + u64::from(claims.back);
            if claims.generation != generation || claimed >= u64::from(total) {
                return None;
            }
            let (before, rest) = (claims.back, total - claims.front - claims.back);
            let after = before + senders_part(rest);
            let wanted = Claims { back: after, ..claims }.word();
            if word.compare_exchange(seen, wanted, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Some(Part { written, generation, before, after, len: offer.len, total });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                assert!(part <= rest && part >= LEAST.min(rest), "{part} of {rest}");
            }
            assert!(senders_part(rest) <= MOST);
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
        tasuki_testkit::replay::Replay { variable: "TASUKI_SEED", command }
            .one(|| u64::from(std::process::id()))
    }

    /// Both ends claim in any order, and the sender may stop being able to: every byte is copied once, and the receiver waits for what is not written
    /// and for nothing else.
    #[test]
    fn every_byte_is_copied_once() {
        let mut random = tasuki_random::Random::new(seed());
        let (segment, mut outbox, slot) = pair();
        for _ in 0..2000 {
            let bits = random.below(24);
            let len = random.below(1 << bits);
            let mut dual_copy = DualCopy::begin(&mut outbox, len).expect("it can be counted");
            let offer = DualCopyOffer { slot, generation: dual_copy.generation(), len };
            // Who has copied each unit's first byte.
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
}
