//! Endpoints behind a queue or counter: who looks at it makes them progress.

use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crate::ep::EpShared;
use crate::queue::Reader;

/// Longest sleep at a time. Completions that another thread has taken in, and signals, are noticed after it.
pub const SLICE: Duration = Duration::from_millis(10);
/// As [`SLICE`], where several endpoints must be looked after, of which only one can be slept on.
const SHARED_SLICE: Duration = Duration::from_millis(1);

/// Each is a reference for as long as the endpoint is open: a weak one would cost two locked instructions at every look.
#[derive(Default)]
pub struct Members(RwLock<Vec<Arc<EpShared>>>);

impl Members {
    fn read(&self) -> RwLockReadGuard<'_, Vec<Arc<EpShared>>> {
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Arc<EpShared>>> {
        self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds an endpoint, once.
    pub fn add(&self, ep: &Arc<EpShared>) {
        let mut members = self.write();
        if !members.iter().any(|member| Arc::ptr_eq(member, ep)) {
            members.push(ep.clone());
        }
    }

    /// An endpoint closes.
    pub fn remove(&self, ep: &Arc<EpShared>) {
        self.write().retain(|member| !Arc::ptr_eq(member, ep));
    }

    /// Takes in what has arrived, and reports what has completed.
    pub fn progress(&self, mut reader: Option<&mut Reader<'_>>) {
        self.each(|ep| ep.progress(reader.as_deref_mut()));
    }

    /// Whether `test` holds for one that is open.
    pub fn any(&self, test: impl Fn(&EpShared) -> bool) -> bool {
        self.read().iter().any(|ep| test(ep))
    }

    /// Calls `visit` for every endpoint that is open.
    pub fn each(&self, mut visit: impl FnMut(&EpShared)) {
        self.read().iter().for_each(|ep| visit(ep));
    }

    /// Sleeps for at most `limit`, until something may have happened.
    pub fn wait(&self, limit: Duration) {
        let (first, several) = {
            let members = self.read();
            (members.first().cloned(), members.len() > 1)
        };
        match first {
            Some(ep) => ep.wait(limit.min(if several { SHARED_SLICE } else { SLICE })),
            None => std::thread::sleep(limit.min(SHARED_SLICE)),
        }
    }
}
