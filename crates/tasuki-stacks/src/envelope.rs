//! What the tags of an MPI's messages say: communicator, tag, and whether the MPI itself made them.
//!
//! An MPI puts communicator and tag into the 64 bits by which a libfabric provider matches messages, and lets
//! a receive ignore the bits with which it marks synchronous sends. Where these marks are says which MPI it
//! is.

use tasuki_ring::stats_page::{Operation, OperationRecord, Snapshot};

/// Where communicator, tag and marks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Open MPI, whose source rank travels apart: 30 bits of communicator, 2 of marks, 32 of tag
    /// (`mtl_ofi_types.h`). Tags below 0 are those of collective operations.
    OpenMpi,
    /// MPICH and Intel MPI: marks, the communicator's context, then so many bits of tag (`ofi_types.h`). Odd
    /// contexts are those of collective operations.
    Mpich {
        /// Bits of the tag.
        tag: u32,
        /// Bits of context and tag together; the mark of an answer to a synchronous send is the next one.
        unmarked: u32,
    },
}

/// Marks of Open MPI: a synchronous send, and the answer to it.
const OPEN_MPI_MARKS: u64 = 0b11 << 32;
/// Bits of the tag of MPICH and of Intel MPI, which is 31 for tags up to 2^31 - 1; but a receive from any tag
/// ignores exactly these bits, and says so.
const MPICH_TAG: u32 = 31;

/// What the bits say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// What tells communicators apart, which is not a number of the program's.
    pub communicator: u64,
    /// The tag; `None`: any.
    pub tag: Option<i64>,
    /// Whether a collective operation made it.
    pub is_collective: bool,
    /// Whether it is the answer to a synchronous send.
    pub is_answer: bool,
}

impl Layout {
    /// Of the MPI that has posted these receives; `None`: they do not say.
    pub fn of<'a>(pages: impl IntoIterator<Item = &'a Snapshot>) -> Option<Self> {
        let receive = |operation: &&OperationRecord| {
            operation.operation == Operation::Receive && operation.tagged && operation.ignore != 0
        };
        pages
            .into_iter()
            .flat_map(|page| &page.operations)
            .filter(receive)
            .find_map(|operation| Self::by_ignored(operation.ignore))
    }

    /// By the bits that a receive ignores.
    fn by_ignored(ignored: u64) -> Option<Self> {
        let marks = ignored & !u64::from(u32::MAX);
        if marks == OPEN_MPI_MARKS {
            return Some(Self::OpenMpi);
        }
        // The lowest mark, of an answer, is not ignored: only a receive for it wants it.
        let lowest = marks.trailing_zeros().checked_sub(1).filter(|&lowest| (40..62).contains(&lowest))?;
        Some(Self::Mpich { tag: MPICH_TAG, unmarked: lowest })
    }

    /// What a message's bits, or those of a receive with the bits that it ignores, say.
    pub fn envelope(self, bits: u64, ignored: u64) -> Envelope {
        match self {
            Self::OpenMpi => {
                let tag = i64::from(bits as u32 as i32);
                let is_any = ignored & u64::from(u32::MAX) != 0;
                Envelope {
                    communicator: bits >> 34,
                    tag: (!is_any).then_some(tag),
                    is_collective: tag < 0,
                    is_answer: bits >> 33 & 1 == 1,
                }
            }
            Self::Mpich { tag, unmarked } => {
                let mask = |count: u32| (1 << count) - 1_u64;
                let context = (bits & mask(unmarked)) >> tag;
                Envelope {
                    communicator: context,
                    tag: (ignored & mask(tag) == 0).then_some((bits & mask(tag)) as i64),
                    is_collective: context & 1 == 1,
                    is_answer: bits >> unmarked & 1 == 1,
                }
            }
        }
    }
}
