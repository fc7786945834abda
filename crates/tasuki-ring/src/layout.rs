//! Where things are in a segment, and what a ring holds.
//!
//! ```text
//! 0        header: magic, version, sizes, owner, secret for `Cma` (written once by the owner)
//! 120      rung: one bit per word of doorbells                    (set by senders, cleared by the receiver)
//! 128      doorbells: one bit per slot                            (set by senders, cleared by the receiver)
//! ...      slots, 256 bytes each:
//!            +0   state, pid, token of the sender                 (sender; the receiver frees)
//!            +64  tail: bytes consumed; shut                      (receiver)
//!            +128 armed: "ring, I do not look at your ring"       (receiver)
//!            +192 claims, written: of a dual copy (`dual_copy`)   (both)
//! ...      rings, page-aligned, `ring_bytes` each; memory only once a sender has taken the slot
//! ```
//!
//! A ring is a row of records, each in whole cache lines: a header word, then the payload. A header word is
//! zero until the record is complete; so the word at the receiver's position says whether there is one, and a
//! small message crosses in a single cache line. Before a sender publishes a record it zeroes the word behind
//! it. A record never wraps: if it does not fit at the end, a `wrap` word there sends the receiver to the
//! beginning. Positions count bytes since the beginning and never wrap (64 bits).

/// "tasukirg".
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"tasukirg");
/// Version of this layout.
pub(crate) const VERSION: u32 = 3;
/// Size of a cache line in bytes, the unit of a ring.
pub(crate) const LINE: usize = 64;

/// Bytes of a record that takes one cache line, at most.
pub const SHORT: usize = LINE - 8;

pub(crate) const AT_MAGIC: usize = 0;
pub(crate) const AT_VERSION: usize = 8;
pub(crate) const AT_PEERS: usize = 12;
pub(crate) const AT_RING_BYTES: usize = 16;
pub(crate) const AT_PID: usize = 24;
pub(crate) const AT_CLOSED: usize = 28;
pub(crate) const AT_SECRET_ADDRESS: usize = 32;
pub(crate) const AT_SECRET: usize = 40;
pub(crate) const SECRET_BYTES: usize = 32;
pub(crate) const AT_RUNG: usize = 120;
pub(crate) const HEADER_BYTES: usize = 128;

pub(crate) const SLOT_BYTES: usize = 256;
pub(crate) const SLOT_STATE: usize = 0;
pub(crate) const SLOT_PID: usize = 4;
pub(crate) const SLOT_TOKEN: usize = 8;
pub(crate) const SLOT_TAIL: usize = 64;
pub(crate) const SLOT_SHUT: usize = 72;
pub(crate) const SLOT_ARMED: usize = 128;
pub(crate) const SLOT_CLAIMS: usize = 192;
pub(crate) const SLOT_WRITTEN: usize = 200;

/// State of a slot that no sender has.
pub(crate) const FREE: u32 = 0;
/// State of a slot that a sender is setting up.
pub(crate) const CLAIMED: u32 = 1;
/// State of a slot that is in use.
pub(crate) const OPEN: u32 = 2;
/// State of a slot whose sender has closed it.
pub(crate) const CLOSED: u32 = 3;

/// Bytes of the file that are locked to show that a process lives. They are far beyond any file's end: first
/// the owner's byte, then one per slot, which its sender locks.
pub(crate) const LOCK_OWNER: i64 = 1 << 40;
pub(crate) const LOCK_SLOTS: i64 = LOCK_OWNER + 1;

/// Smallest and largest ring, in bytes.
pub(crate) const RING_BYTES: (usize, usize) = (4 << 10, 64 << 20);
/// Fewest and most slots.
pub(crate) const PEERS: (usize, usize) = (1, 4096);

/// Sizes of a segment, checked, and the places that follow from them. The places are kept because every look
/// at a ring asks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) peers: usize,
    pub(crate) ring_bytes: usize,
    /// Where the slots begin.
    slots: usize,
    /// Where the rings begin.
    rings: usize,
}

impl Geometry {
    /// Returns `None` if a size is outside its bounds or the ring's is no power of two.
    pub(crate) fn new(peers: usize, ring_bytes: usize) -> Option<Geometry> {
        let good = (PEERS.0..=PEERS.1).contains(&peers)
            && (RING_BYTES.0..=RING_BYTES.1).contains(&ring_bytes)
            && ring_bytes.is_power_of_two();
        let slots = HEADER_BYTES + (peers.div_ceil(64) * 8).next_multiple_of(LINE);
        good.then(|| {
            let rings = (slots + peers * SLOT_BYTES).next_multiple_of(4096);
            Geometry { peers, ring_bytes, slots, rings }
        })
    }

    pub(crate) fn bells(&self) -> usize {
        self.peers.div_ceil(64)
    }

    pub(crate) fn bell(&self, word: usize) -> usize {
        HEADER_BYTES + word * 8
    }

    #[inline]
    pub(crate) fn slot(&self, index: usize) -> usize {
        self.slots + index * SLOT_BYTES
    }

    /// Bytes of the segment before its first ring.
    pub(crate) fn head_bytes(&self) -> usize {
        self.rings
    }

    #[inline]
    pub(crate) fn ring(&self, index: usize) -> usize {
        self.rings + index * self.ring_bytes
    }

    pub(crate) fn total(&self) -> usize {
        self.ring(self.peers)
    }

    /// The largest record, in bytes. One of half the ring fits into an empty ring wherever the ring stands:
    /// at most half of it less a line is skipped at the end, and a line stays free for the zero word behind
    /// the record.
    pub(crate) fn max_record(&self) -> usize {
        self.ring_bytes / 2 - 8
    }
}

/// What a header word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// No record has been published here yet.
    Nothing,
    /// The next record is at the ring's beginning.
    Wrap,
    /// A record of so many bytes.
    Record(usize),
    /// No sender that follows the protocol writes this.
    Corrupt,
}

const WRAP: u32 = u32::MAX;

/// Bytes of the ring that a record of `len` bytes takes.
#[inline]
pub(crate) fn footprint(len: usize) -> usize {
    (len + 8).next_multiple_of(LINE)
}

/// The upper half of a header word. It depends on the position, so that what is no header is hardly ever
/// taken for one.
#[inline]
fn mark(position: u64) -> u64 {
    u64::from((position / LINE as u64) as u32 ^ 0x7a5c_1e93) << 32
}

/// The header word of a record of `len` bytes at `position`.
#[inline]
pub(crate) fn record_word(position: u64, len: usize) -> u64 {
    mark(position) | (len as u64 + 1)
}

/// The header word that sends the receiver from `position` to the ring's beginning.
#[inline]
pub(crate) fn wrap_word(position: u64) -> u64 {
    mark(position) | u64::from(WRAP)
}

/// Reads the header word found at `position` of a ring of `ring_bytes` bytes.
#[inline]
pub(crate) fn parse(word: u64, position: u64, ring_bytes: usize) -> Word {
    if word == 0 {
        return Word::Nothing;
    }
    let offset = position as usize & (ring_bytes - 1);
    let size = word as u32;
    if word & !0xffff_ffff != mark(position) || size == 0 {
        return Word::Corrupt;
    }
    if size == WRAP {
        return if offset == 0 { Word::Corrupt } else { Word::Wrap };
    }
    let len = size as usize - 1;
    let fits = len <= ring_bytes / 2 - 8 && footprint(len) <= ring_bytes - offset;
    if fits { Word::Record(len) } else { Word::Corrupt }
}

/// The length of a record that takes one cache line, if that is what the header word found at `position`
/// says. Such a record never runs over the ring's end.
#[inline]
pub(crate) fn line_len(word: u64, position: u64) -> Option<usize> {
    let len = word.wrapping_sub(record_word(position, 0));
    (len <= SHORT as u64).then_some(len as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps_and_everything_is_aligned() {
        for (peers, ring_bytes) in [(1, 4096), (63, 4096), (64, 65_536), (65, 8192), (4096, 4096)] {
            let geometry = Geometry::new(peers, ring_bytes).unwrap();
            const { assert!(AT_SECRET + SECRET_BYTES <= AT_RUNG && AT_RUNG + 8 <= HEADER_BYTES) };
            const { assert!(PEERS.1 <= 64 * 64) };
            assert!(geometry.bell(geometry.bells()) <= geometry.slot(0));
            assert!(geometry.slot(peers) <= geometry.ring(0));
            assert_eq!(geometry.slot(0) % LINE, 0);
            assert_eq!(geometry.ring(peers - 1) % 4096, 0);
            assert_eq!(geometry.total(), geometry.ring(0) + peers * ring_bytes);
        }
        assert_eq!(Geometry::new(0, 4096), None);
        assert_eq!(Geometry::new(1, 5000), None);
        assert_eq!(Geometry::new(usize::MAX, 4096), None);
        assert_eq!(Geometry::new(1, 1 << 40), None);
    }

    #[test]
    fn words_are_read_back_and_at_no_other_position() {
        for position in [0, 64, 4096, 4032, u64::from(u32::MAX) * 64] {
            for len in [0, 1, 55, 56, 57] {
                let word = record_word(position, len);
                assert_eq!(line_len(word, position), (len <= SHORT).then_some(len));
                assert_eq!(line_len(word, position + 64), None);
            }
            for len in [0, 1, 55] {
                assert_eq!(parse(record_word(position, len), position, 4096), Word::Record(len));
                assert_eq!(parse(record_word(position, len), position + 64, 4096), Word::Corrupt);
            }
            assert_eq!(line_len(wrap_word(position), position), None);
            assert_eq!(line_len(0, position), None);
        }
        assert_eq!(parse(wrap_word(64), 64, 4096), Word::Wrap);
        assert_eq!(parse(wrap_word(4096), 4096, 4096), Word::Corrupt, "a wrap at the beginning never ends");
        assert_eq!(parse(record_word(4032, 57), 4032, 4096), Word::Corrupt, "runs over the end");
        assert_eq!(parse(record_word(0, 2040), 0, 4096), Word::Record(2040));
        assert_eq!(parse(record_word(0, 2041), 0, 4096), Word::Corrupt, "larger than a record may be");
        assert_eq!(parse(0, 64, 4096), Word::Nothing);
    }
}
