//! Names of the address vector (`fi_addr_t`) and peers of the engine, each found by the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use tasuki_engine::{Address, Endpoint, Peer};

use crate::abi::{FI_ADDR_NOTAVAIL, FI_EINVAL, FiAddr};
use crate::guard::{Errno, Ret};
use crate::members::Member;
use crate::space::Space;

/// The names and peers that have been met. An entry is made when a name or a peer is first used, so that a
/// job of thousands of processes does not introduce each process to each.
#[derive(Default)]
pub struct Peers {
    maps: RwLock<Maps>,
    /// The name that was looked up last, and its peer: spares the lock.
    latest_name: Pair,
    /// The peer that was looked up last, and its name: spares the lock.
    latest_peer: Pair,
}

/// A name and its peer in one word, 32 bits each; names that do not fit are not kept here.
struct Pair(AtomicU64);

/// In place of a name: there is none.
const NONE: u64 = u32::MAX as u64;

impl Default for Pair {
    fn default() -> Pair {
        Pair(AtomicU64::new(NONE << 32))
    }
}

impl Pair {
    fn set(&self, name: FiAddr, peer: Peer) {
        let name = if name < NONE { name } else { NONE };
        self.0.store(name << 32 | u64::from(peer.0), Ordering::Relaxed);
    }

    /// The peer, if this is the pair's name.
    #[inline(always)]
    fn peer(&self, name: FiAddr) -> Option<Peer> {
        let word = self.0.load(Ordering::Relaxed);
        (word >> 32 == name && name != NONE).then_some(Peer(word as u32))
    }

    /// The name, if this is the pair's peer.
    #[inline(always)]
    fn name(&self, peer: Peer) -> Option<FiAddr> {
        let word = self.0.load(Ordering::Relaxed);
        (word as u32 == peer.0 && word >> 32 != NONE).then_some(word >> 32)
    }

    fn clear(&self) {
        self.0.store(NONE << 32, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Maps {
    /// Peers by their names.
    peers: Vec<Option<Peer>>,
    /// Names by their peers.
    names: Vec<FiAddr>,
}

impl Peers {
    fn read(&self) -> RwLockReadGuard<'_, Maps> {
        self.maps.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Maps> {
        self.maps.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The peer of a name.
    #[inline(always)]
    pub fn peer<E: Member>(&self, name: FiAddr, engine: &Endpoint, space: &Space<E>) -> Ret<Peer> {
        match self.latest_name.peer(name) {
            Some(peer) => Ok(peer),
            None => self.find_peer(name, engine, space),
        }
    }

    #[inline(never)]
    fn find_peer<E: Member>(&self, name: FiAddr, engine: &Endpoint, space: &Space<E>) -> Ret<Peer> {
        let index = usize::try_from(name).map_err(|_| Errno(FI_EINVAL))?;
        let maps = self.read();
        if let Some(Some(peer)) = maps.peers.get(index) {
            // Stored under the lock, so that a name that is being forgotten does not stay here.
            self.latest_name.set(name, *peer);
            return Ok(*peer);
        }
        drop(maps);
        // This bounds the index, too: no table grows for a name that was never given.
        let address = space.address(name).ok_or(Errno(FI_EINVAL))?;
        let peer = engine.add_peer(&address);
        self.write().join(index, peer, space.name(&address).unwrap_or(name));
        Ok(peer)
    }

    /// The name of a peer, whose address `address` tells; `FI_ADDR_NOTAVAIL` if the address is not in the
    /// vector: the peer may have connected before its address is inserted.
    pub fn name<E: Member>(
        &self,
        peer: Peer,
        address: impl FnOnce(Peer) -> Option<Address>,
        space: &Space<E>,
    ) -> FiAddr {
        if let Some(name) = self.latest_peer.name(peer) {
            return name;
        }
        let maps = self.read();
        if let Some(&name) = maps.names.get(peer.0 as usize)
            && name != FI_ADDR_NOTAVAIL
        {
            self.latest_peer.set(name, peer);
            return name;
        }
        drop(maps);
        let Some(name) = address(peer).and_then(|address| space.name(&address)) else {
            return FI_ADDR_NOTAVAIL;
        };
        self.write().join(name as usize, peer, name);
        name
    }

    /// Forgets a name. Returns its peer, if it has been met.
    pub fn forget(&self, name: FiAddr) -> Option<Peer> {
        let mut maps = self.write();
        self.latest_name.clear();
        self.latest_peer.clear();
        let peer = usize::try_from(name).ok().and_then(|index| maps.peers.get_mut(index)?.take());
        match peer {
            Some(peer) => {
                if let Some(known) = maps.names.get_mut(peer.0 as usize) {
                    *known = FI_ADDR_NOTAVAIL;
                }
            }
            // The peer may have been met by another name of its address, and still be called by this one.
            None => {
                let called_so = maps.names.iter_mut().filter(|known| **known == name);
                called_so.for_each(|known| *known = FI_ADDR_NOTAVAIL);
            }
        }
        peer
    }
}

impl Maps {
    /// Enters a peer: `index` is a name of it, and `name` its first one.
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
