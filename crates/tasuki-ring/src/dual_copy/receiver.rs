//! The receiver's end of a dual copy.

use std::ops::Range;

use super::words::{Claims, Written, bytes, receivers_part, units};
use crate::Outbox;
use crate::layout::{SLOT_CLAIMS, SLOT_WRITTEN};
use crate::sync::Ordering;

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
    /// The words in shared memory cannot be ([`Corrupt`]). The sender may still be writing.
    Corrupt,
}

/// The receiver's end of a copy.
#[derive(Debug)]
pub struct DualCopy {
    generation: u16,
    len: u64,
    total: u32,
    /// Units claimed by this end; never read back from shared memory.
    front: u32,
    /// Units claimed by the sender, as seen last.
    back: u32,
    /// The claims were such as no sender makes.
    corrupt: bool,
}

impl DualCopy {
    /// Begins a copy of `len` bytes over the slot of `outbox`, where none may be under way. `None` if it is
    /// too long to be counted.
    pub fn begin(outbox: &mut Outbox, len: u64) -> Option<DualCopy> {
        let total = units(len)?;
        let generation = outbox.next_dual_copy();
        let written = Written { generation, failed: false, units: 0 };
        outbox.word(SLOT_WRITTEN).store(written.word(), Ordering::Relaxed);
        // Release: a sender that finds these claims finds that nothing is written.
        outbox.word(SLOT_CLAIMS).store(Claims { generation, front: 0, back: 0 }.word(), Ordering::Release);
        Some(DualCopy { generation, len, total, front: 0, back: 0, corrupt: false })
    }

    /// The copy's name, by which the sender finds it.
    pub fn generation(&self) -> u16 {
        self.generation
    }

    /// Claims the bytes that the receiver copies next. `None` if all is claimed.
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
        // Acquire: what the sender says that it has written is there.
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

    /// How many bytes the sender has claimed.
    pub fn senders_bytes(&self) -> u64 {
        let all = bytes(self.total - self.back..self.total, self.len);
        all.end - all.start
    }
}
