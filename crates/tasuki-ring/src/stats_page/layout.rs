//! Where records are on a page.

use super::encoding::{DropRecord, Origin};
use super::words::Words;
use super::{EndpointRecord, Layout, OperationRecord, PeerRecord, RailRecord};

/// "tasukist", the first word of a page.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"tasukist");
/// Version of this layout; a change of any record is a new version. A spare word of the header may be given a
/// meaning without one: older programs leave it zero, and do not read it.
pub(crate) const VERSION: u64 = 4;
/// Words of the header: magic, version, peers, rails, drops, peers beyond the page, bytes carried, and one
/// spare.
pub(crate) const HEADER_WORDS: usize = 8;
pub(crate) const AT_MAGIC: usize = 0;
pub(crate) const AT_VERSION: usize = 8;
pub(crate) const AT_PEERS: usize = 16;
pub(crate) const AT_RAILS: usize = 24;
pub(crate) const AT_DROPS: usize = 32;
pub(crate) const AT_BEYOND: usize = 40;
pub(crate) const AT_CARRIED: usize = 48;
/// The byte of the file that is locked while the writer lives.
pub(crate) const LOCK: i64 = 1 << 40;
/// Most that a page may have of peers, of rails per peer, and of reasons for drops.
pub(crate) const SIZES_MAX: [usize; 3] = [65_536, 64, 1024];
/// Operations that a page has room for, of all kinds together.
pub const OPERATIONS_MAX: usize = 96;
/// Sizes of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) peers: usize,
    pub(crate) rails: usize,
    pub(crate) drops: usize,
}

/// Bytes that a record of so many words takes: a sequence word stands before each.
const fn bytes(words: usize) -> usize {
    (words + 1) * 8
}

impl Places {
    pub(crate) fn new(layout: &Layout) -> Option<Places> {
        let Layout { peers, rails, drops, .. } = *layout;
        let good = peers <= SIZES_MAX[0] && rails <= SIZES_MAX[1] && drops <= SIZES_MAX[2];
        good.then_some(Places { peers, rails, drops })
    }

    pub(crate) fn origin(&self) -> usize {
        HEADER_WORDS * 8
    }

    pub(crate) fn endpoint(&self) -> usize {
        self.origin() + bytes(Origin::WORDS)
    }

    pub(crate) fn operation(&self, index: usize) -> usize {
        self.endpoint() + bytes(EndpointRecord::WORDS) + index * bytes(OperationRecord::WORDS)
    }

    pub(crate) fn drop(&self, index: usize) -> usize {
        self.operation(OPERATIONS_MAX) + index * bytes(DropRecord::WORDS)
    }

    pub(crate) fn peer(&self, index: usize) -> usize {
        self.drop(self.drops) + index * (bytes(PeerRecord::WORDS) + self.rails * bytes(RailRecord::WORDS))
    }

    pub(crate) fn rail(&self, index: usize, place: usize) -> usize {
        self.peer(index) + bytes(PeerRecord::WORDS) + place * bytes(RailRecord::WORDS)
    }

    pub(crate) fn total(&self) -> usize {
        self.peer(self.peers)
    }
}
