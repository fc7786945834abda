//! Peers that are gone. The failure of a send without a context could not be told by a completion, so that
//! such a send is refused by its call.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tasuki_engine::Peer;

use crate::guard::{Errno, Ret, lock};

/// Peers that are gone, which do not come back: a process that is started again is another peer.
#[derive(Default)]
pub struct Lost {
    /// Whether there is one: spares the lock as long as there is none.
    any: AtomicBool,
    peers: Mutex<HashMap<Peer, i32>>,
}

impl Lost {
    /// Adds a peer; operations with it fail with the error number `err`.
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
