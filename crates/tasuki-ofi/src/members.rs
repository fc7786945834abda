//! Endpoints behind a queue or counter: who looks at it makes them progress.

use std::sync::{Arc, RwLock, RwLockReadGuard, Weak};
use std::time::Duration;

use crate::ep::EpShared;

/// Longest sleep at a time. Completions that another thread has taken in, and signals, are noticed after it.
pub const SLICE: Duration = Duration::from_millis(10);
/// As [`SLICE`], where several endpoints must be looked after, of which only one can be slept on.
const SHARED_SLICE: Duration = Duration::from_millis(1);

/// Weak: an endpoint holds its queues, not the other way round.
#[derive(Default)]
pub struct Members(RwLock<Vec<Weak<EpShared>>>);

impl Members {
    fn read(&self) -> RwLockReadGuard<'_, Vec<Weak<EpShared>>> {
        self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds an endpoint, once; forgets those that are gone.
    pub fn add(&self, ep: &Arc<EpShared>) {
        let mut members = self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let new = Arc::downgrade(ep);
        members.retain(|member| member.strong_count() > 0 && !member.ptr_eq(&new));
        members.push(new);
    }

    /// Takes in what has arrived, and reports what has completed.
    pub fn progress(&self) {
        self.each(EpShared::progress);
    }

    /// Whether `test` holds for one that is open.
    pub fn any(&self, test: impl Fn(&EpShared) -> bool) -> bool {
        self.read().iter().any(|member| member.upgrade().is_some_and(|ep| test(&ep)))
    }

    /// Calls `visit` for every endpoint that is open.
    pub fn each(&self, mut visit: impl FnMut(&EpShared)) {
        for member in self.read().iter() {
            if let Some(ep) = member.upgrade() {
                visit(&ep);
            }
        }
    }

    /// Sleeps for at most `limit`, until something may have happened.
    pub fn wait(&self, limit: Duration) {
        let (first, several) = {
            let members = self.read();
            (members.iter().find_map(Weak::upgrade), members.len() > 1)
        };
        match first {
            Some(ep) => ep.wait(limit.min(if several { SHARED_SLICE } else { SLICE })),
            None => std::thread::sleep(limit.min(SHARED_SLICE)),
        }
    }
}
