//! Names of the address vector and peers of the engine, each by the other.

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use tasuki_engine::{Endpoint, Peer};

use crate::abi::{FI_ADDR_NOTAVAIL, FI_EINVAL, FiAddr};
use crate::guard::{Errno, Ret};
use crate::space::Space;

/// Filled when a name or peer is first met: a job of thousands must not introduce each process to each.
#[derive(Default)]
pub struct Peers(RwLock<Maps>);

#[derive(Default)]
struct Maps {
    /// By name.
    peers: Vec<Option<Peer>>,
    /// By peer.
    names: Vec<FiAddr>,
}

impl Peers {
    fn read(&self) -> RwLockReadGuard<'_, Maps> {
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Maps> {
        self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The peer of a name.
    pub fn peer(&self, name: FiAddr, engine: &Endpoint, space: &Space) -> Ret<Peer> {
        let index = usize::try_from(name).map_err(|_| Errno(FI_EINVAL))?;
        if let Some(Some(peer)) = self.read().peers.get(index) {
            return Ok(*peer);
        }
        // Bounds the index too: no table grows for a name that was never given.
        let address = space.address(name).ok_or(Errno(FI_EINVAL))?;
        let peer = engine.add_peer(&address);
        self.write().join(index, peer, space.name(&address).unwrap_or(name));
        Ok(peer)
    }

    /// The name of a peer; `FI_ADDR_NOTAVAIL` if its address is not in the vector (yet: it may have connected by itself).
    pub fn name(&self, peer: Peer, engine: &Endpoint, space: &Space) -> FiAddr {
        match self.read().names.get(peer.0 as usize) {
            Some(&name) if name != FI_ADDR_NOTAVAIL => return name,
            _ => {}
        }
        let Some(name) = engine.peer_address(peer).and_then(|address| space.name(&address)) else {
            return FI_ADDR_NOTAVAIL;
        };
        self.write().join(name as usize, peer, name);
        name
    }

    /// A name is gone; gives its peer if it has been met.
    pub fn forget(&self, name: FiAddr) -> Option<Peer> {
        let mut maps = self.write();
        let peer = maps.peers.get_mut(usize::try_from(name).ok()?)?.take()?;
        if let Some(name) = maps.names.get_mut(peer.0 as usize) {
            *name = FI_ADDR_NOTAVAIL;
        }
        Some(peer)
    }
}

impl Maps {
    /// `index` is a name of the peer, `name` its first one.
    fn join(&mut self, index: usize, peer: Peer, name: FiAddr) {
        if self.peers.len() <= index {
            self.peers.resize(index + 1, None);
        }
        self.peers[index] = Some(peer);
        let at = peer.0 as usize;
        if self.names.len() <= at {
            self.names.resize(at + 1, FI_ADDR_NOTAVAIL);
        }
        self.names[at] = name;
    }
}
