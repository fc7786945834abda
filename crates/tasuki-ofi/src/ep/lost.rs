//! Peers that are gone. A send without a context has nothing by which its failure could be told: it is refused.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tasuki_engine::Peer;

use crate::guard::{Errno, Ret, lock};

/// Peers do not come back: one that was started again is another peer.
#[derive(Default)]
pub struct Lost {
    /// Spares the lock as long as all are well.
    any: AtomicBool,
    peers: Mutex<HashMap<Peer, i32>>,
}

impl Lost {
    /// Operations with this peer fail with `err`.
    pub fn add(&self, peer: Peer, err: i32) {
        lock(&self.peers).insert(peer, err);
        self.any.store(true, Ordering::Release);
    }

    /// An error if the peer is gone.
    #[inline(always)]
    pub fn check(&self, peer: Peer) -> Ret {
        if !self.any.load(Ordering::Acquire) {
            return Ok(());
        }
        lock(&self.peers).get(&peer).map_or(Ok(()), |&err| Err(Errno(err)))
    }
}
