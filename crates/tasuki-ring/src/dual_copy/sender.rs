//! The sender's end of a dual copy.

use std::ops::Range;

use super::words::{Claims, Written, bytes, senders_part, units};
use crate::layout::{SLOT_CLAIMS, SLOT_WRITTEN};
use crate::sync::{AtomicU64, Ordering};
use crate::{Segment, Slot};

/// What a receiver has told the sender about a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualCopyOffer {
    /// Where the receiver writes in this endpoint's segment.
    pub slot: Slot,
    /// [`crate::DualCopy::generation`].
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
    /// Units that the sender had claimed before this part.
    before: u32,
    /// Units that the sender has claimed with this part.
    after: u32,
    len: u64,
    total: u32,
}

impl Part<'_> {
    /// The part's bytes, within the offer's.
    pub fn bytes(&self) -> Range<u64> {
        bytes(self.total - self.after..self.total - self.before, self.len)
    }

    /// Tells the receiver that the part has been written.
    pub fn done(self) {
        self.end(self.after, false);
    }

    /// Tells the receiver that the part could not be written, and that the sender will write no more.
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
    /// Claims what the sender writes next. `None` if nothing is left, or the copy is over.
    pub fn claim_part(&self, offer: &DualCopyOffer) -> Option<Part<'_>> {
        // If the receiver has left the slot, or it has gone to another one, this copy is over.
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
