//! Memory that peers may reach: registered with a domain, and so with each of its endpoints.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use tasuki_engine::Buffer;

use crate::abi::{FI_EBUSY, FI_ENOKEY};
use crate::ep::EpShared;
use crate::guard::{Errno, Ret, lock};

/// Transfers that are under way may last that long after the registration was to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Registrations by key, and who must know them.
#[derive(Default)]
pub struct Regions(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    memory: HashMap<u64, Buffer>,
    /// Weak: an endpoint holds its domain, not the other way round.
    endpoints: Vec<Weak<EpShared>>,
}

impl Regions {
    /// A new endpoint: what is registered is so with it too.
    pub fn join(&self, ep: &Arc<EpShared>) {
        let mut inner = lock(&self.0);
        inner.endpoints.retain(|member| member.strong_count() > 0);
        inner.endpoints.push(Arc::downgrade(ep));
        for (&key, &memory) in &inner.memory {
            // The endpoint is new: no key is taken.
            let _ = ep.expose(key, memory);
        }
    }

    /// Registers memory; `FI_ENOKEY` if the key is taken.
    pub fn insert(&self, key: u64, memory: Buffer) -> Ret {
        let mut inner = lock(&self.0);
        if inner.memory.contains_key(&key) {
            return Err(Errno(FI_ENOKEY));
        }
        for ep in inner.endpoints.iter().filter_map(Weak::upgrade) {
            ep.expose(key, memory)?;
        }
        inner.memory.insert(key, memory);
        Ok(())
    }

    /// Ends a registration: when it returns nobody touches the memory any more. `FI_EBUSY` if transfers do not end.
    pub fn remove(&self, key: u64) -> Ret {
        let endpoints: Vec<_> = {
            let mut inner = lock(&self.0);
            inner.memory.remove(&key);
            inner.endpoints.iter().filter_map(Weak::upgrade).collect()
        };
        let end = Instant::now() + PATIENCE;
        for ep in endpoints {
            while !ep.conceal(key) {
                if Instant::now() > end {
                    return Err(Errno(FI_EBUSY));
                }
                ep.progress(None);
            }
        }
        Ok(())
    }
}
