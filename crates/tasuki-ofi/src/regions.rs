//! Memory that peers may reach: registered with a domain, and through it with each of its endpoints.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use tasuki_engine::{Buffer, Rights};

use crate::abi::{FI_EBUSY, FI_ENOKEY};
use crate::ep::EpShared;
use crate::guard::{Errno, Ret, lock};
use crate::members::Member;
use tasuki_tuning::provider;

/// The registrations of a domain by their keys, and the endpoints that must know them.
#[derive(Default)]
pub struct Regions(Mutex<Inner>);

/// A registration: its pieces of memory, and what peers may do with them.
pub struct Region {
    pub pieces: Vec<Buffer>,
    pub rights: Rights,
    /// It is being ended: nobody else gets the key before all endpoints have given the memory up.
    pub ends: bool,
}

#[derive(Default)]
struct Inner {
    regions: HashMap<u64, Region>,
    /// Weak references, because an endpoint holds its domain.
    endpoints: Vec<Weak<EpShared>>,
}

impl Regions {
    /// Makes all registrations known to a new endpoint, and the endpoint known to registrations that follow.
    pub fn join(&self, ep: &Arc<EpShared>) {
        let mut inner = lock(&self.0);
        inner.endpoints.retain(|member| member.strong_count() > 0);
        inner.endpoints.push(Arc::downgrade(ep));
        for (&key, Region { pieces, rights, .. }) in inner.regions.iter().filter(|(_, region)| !region.ends) {
            // The endpoint is new: no key is taken.
            let _ = ep.expose(key, pieces, *rights);
        }
    }

    /// Registers memory; `FI_ENOKEY` if the key is taken.
    pub fn insert(&self, key: u64, region: Region) -> Ret {
        let mut inner = lock(&self.0);
        if inner.regions.contains_key(&key) {
            return Err(Errno(FI_ENOKEY));
        }
        let endpoints: Vec<_> = inner.endpoints.iter().filter_map(Weak::upgrade).collect();
        for (at, ep) in endpoints.iter().enumerate() {
            if let Err(error) = ep.expose(key, &region.pieces, region.rights) {
                // The key is new: no transfer can have begun that would keep an endpoint from concealing it.
                endpoints[..at].iter().for_each(|ep| _ = ep.conceal(key));
                return Err(error);
            }
        }
        inner.regions.insert(key, region);
        Ok(())
    }

    /// Ends a registration: after this returns, nobody touches the memory any more. `FI_EBUSY` if transfers
    /// do not end; the key is not free then.
    pub fn remove(&self, key: u64) -> Ret {
        let endpoints: Vec<_> = {
            let mut inner = lock(&self.0);
            if let Some(region) = inner.regions.get_mut(&key) {
                region.ends = true;
            }
            inner.endpoints.iter().filter_map(Weak::upgrade).collect()
        };
        let end = Instant::now() + provider::CLOSE_MAX;
        for ep in endpoints {
            while !ep.conceal(key) {
                if Instant::now() > end {
                    return Err(Errno(FI_EBUSY));
                }
                ep.progress(None);
            }
        }
        lock(&self.0).regions.remove(&key);
        Ok(())
    }
}
