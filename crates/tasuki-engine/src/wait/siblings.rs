//! Endpoints of one process that its program polls in turn.
//!
//! Open MPI has an endpoint for messages and another for one-sided operations. While one of them is in use
//! the other one has nothing for long, and must not take naps for that: they would delay the first.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What endpoints of one process tell each other. Clones belong together.
#[derive(Clone, Debug, Default)]
pub struct Siblings(Arc<AtomicU64>);

impl Siblings {
    /// One-sided operations that were done for the program or for its peers.
    pub(super) fn served(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// One more was done.
    pub(super) fn serve(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
