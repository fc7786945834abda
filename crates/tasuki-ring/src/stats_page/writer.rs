//! The writer.

use std::path::Path;

use super::{EndpointRecord, Identity, PeerRecord, RailRecord};
use crate::RingError;

/// How much room a page has.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Peers (default 256).
    pub peers: usize,
    /// Rails per peer (default 8).
    pub rails: usize,
    /// Reasons for drops (default 48).
    pub drops: usize,
    /// Whether other users may read the page (mode 0644 and not 0600; default false).
    pub public: bool,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { peers: 256, rails: 8, drops: 48, public: false }
    }
}

/// Keeps a page. Every call is a few plain stores. Indices beyond the layout are ignored. The page is removed on drop.
pub struct Writer {}

impl Writer {
    /// Makes `/dev/shm/tasuki-stats.<uid>.<pid>.<n>` and removes pages of this user's dead processes.
    pub fn create(layout: &Layout, identity: &Identity) -> Result<Writer, RingError> {
        let _ = (layout, identity);
        todo!()
    }

    /// The page's file.
    pub fn path(&self) -> &Path {
        todo!()
    }

    /// Totals.
    pub fn endpoint(&mut self, record: &EndpointRecord) {
        let _ = record;
        todo!()
    }

    /// Peer number `index`.
    pub fn peer(&mut self, index: usize, record: &PeerRecord) {
        let _ = (index, record);
        todo!()
    }

    /// Takes a peer and its rails off the page.
    pub fn remove_peer(&mut self, index: usize) {
        let _ = index;
        todo!()
    }

    /// Rail in place `place` (0.., not its number) of peer `index`.
    pub fn rail(&mut self, index: usize, place: usize, record: &RailRecord) {
        let _ = (index, place, record);
        todo!()
    }

    /// Drops by reason; names of at most 48 bytes, the same order at every call.
    pub fn drops(&mut self, drops: &[(&str, u64)]) {
        let _ = drops;
        todo!()
    }
}
