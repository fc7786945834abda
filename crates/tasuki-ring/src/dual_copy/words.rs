//! The two words of a dual copy in shared memory, and how its bytes are cut into parts.

use std::ops::Range;
use tasuki_tuning::dual_copy::{UNITS_MAX, UNITS_MIN};

/// Parts are counted in units of so many bytes.
pub(super) const UNIT: u64 = 4096;
/// Bits of a number of units in a word.
const BITS: u32 = 24;
/// The largest number of units.
pub(super) const MASK: u64 = (1 << BITS) - 1;
const FAILED: u64 = 1 << 47;

/// What the word *claims* says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) generation: u16,
    /// Units that the receiver has claimed, from the front.
    pub(super) front: u32,
    /// Units that the sender has claimed, from the back.
    pub(super) back: u32,
}

impl Claims {
    pub(super) fn from_word(word: u64) -> Claims {
        let [front, back] = [word >> BITS, word].map(|bits| (bits & MASK) as u32);
        Claims { generation: (word >> 48) as u16, front, back }
    }

    pub(super) fn word(self) -> u64 {
        u64::from(self.generation) << 48 | u64::from(self.front) << BITS | u64::from(self.back)
    }
}

/// What the word *written* says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) generation: u16,
    /// The sender writes no more.
    pub(super) failed: bool,
    /// Units that the sender has written, of those that it has claimed.
    pub(super) units: u32,
}

impl Written {
    pub(super) fn from_word(word: u64) -> Written {
        Written { generation: (word >> 48) as u16, failed: word & FAILED != 0, units: (word & MASK) as u32 }
    }

    pub(super) fn word(self) -> u64 {
        u64::from(self.generation) << 48 | if self.failed { FAILED } else { 0 } | u64::from(self.units)
    }
}

/// Units of a copy of `len` bytes; `None` if they are more than can be counted.
pub(super) fn units(len: u64) -> Option<u32> {
    let units = len.div_ceil(UNIT);
    (units <= MASK).then_some(units as u32)
}

/// The bytes of some units of a copy of `len` bytes.
pub(super) fn bytes(units: Range<u32>, len: u64) -> Range<u64> {
    let [start, end] = [units.start, units.end].map(|unit| (u64::from(unit) * UNIT).min(len));
    start..end
}

/// What the receiver claims next of the `rest` units that neither end has claimed. `first`: it has claimed
/// nothing yet. `alone`: the sender has claimed nothing yet.
///
/// It claims half of all at first, since the other half is the sender's, if it comes. If the sender has not
/// come by then, the receiver claims most of the rest or all of it, since the fewer calls it makes the sooner
/// it is done.
pub(super) fn receivers_part(rest: u32, first: bool, alone: bool) -> u32 {
    let part = match (first, alone) {
        (true, _) => rest.div_ceil(2),
        (false, true) if rest <= 4 * UNITS_MAX => rest,
        (false, true) => rest - rest / 4,
        (false, false) => rest.div_ceil(2).min(UNITS_MAX),
    };
    part.max(UNITS_MIN).min(rest)
}

/// What the sender claims next of the `rest` units that neither end has claimed.
pub(super) fn senders_part(rest: u32) -> u32 {
    let part = if rest <= UNITS_MAX / 2 { rest } else { rest.div_ceil(2).min(UNITS_MAX) };
    part.max(UNITS_MIN).min(rest)
}
