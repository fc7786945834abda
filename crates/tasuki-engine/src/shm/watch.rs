//! Peers on this host with which nothing has been exchanged through this endpoint.
//!
//! An MPI with shared memory of its own for ranks of one host may never send anything between them through
//! this endpoint, and wait for ever in its own memory for a rank that has died. Only the kernel can tell.

use std::collections::BTreeMap;

use tasuki_ring::{Sight, Watch};

use super::token_of;
use crate::address::Address;
use crate::api::Peer;

/// The watched peers.
#[derive(Default)]
pub(super) struct Watches(BTreeMap<Peer, Option<Watch>>);

impl Watches {
    /// Whether the peer's process was on this host and is gone without having closed its endpoint. The first
    /// look finds out whether it is on this host.
    pub fn has_died(&mut self, peer: Peer, address: &Address) -> bool {
        let watch = self.0.entry(peer).or_insert_with(|| Watch::open(&token_of(address)));
        match watch.as_ref().map(Watch::look) {
            None | Some(Sight::Lives) => false,
            Some(Sight::Closed) => {
                *watch = None;
                false
            }
            Some(Sight::Died) => {
                *watch = None;
                true
            }
        }
    }

    /// The peer need not be watched (any more): it has a ring.
    pub fn forget(&mut self, peer: Peer) {
        self.0.remove(&peer);
    }
}
