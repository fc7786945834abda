//! What an endpoint is bound to: queues and counters that it reports to, and the address vector that it sends
//! by.

use std::sync::Arc;

use tasuki_engine::Report;

use super::state::EpShared;
use crate::abi::*;
use crate::counter::Counter;
use crate::entries::{Entry, Reader};
use crate::guard::{Errno, Ret};
use crate::queue::Queue;
use crate::space::Space;

/// The queue and the counter to which operations of one direction are reported.
#[derive(Clone, Default)]
pub struct Target {
    /// Takes completions.
    pub queue: Option<Arc<Queue<EpShared>>>,
    /// Only operations that ask for a completion give one (`FI_SELECTIVE_COMPLETION`).
    pub selective: bool,
    /// Counts operations that are over, whether they give completions or not.
    pub counter: Option<Arc<Counter<EpShared>>>,
}

/// What an enabled endpoint is bound to.
pub struct Wiring {
    /// Sends.
    pub tx: Target,
    /// Receives.
    pub rx: Target,
    /// Reads of remote memory.
    pub reads: Option<Arc<Counter<EpShared>>>,
    /// Writes to remote memory.
    pub writes: Option<Arc<Counter<EpShared>>>,
    /// Addresses.
    pub space: Arc<Space<EpShared>>,
}

/// What an endpoint that is not enabled yet has been bound to.
#[derive(Default)]
pub struct Plan {
    /// Sends.
    pub tx: Target,
    /// Receives.
    pub rx: Target,
    /// Addresses.
    pub space: Option<Arc<Space<EpShared>>>,
    /// Reads of remote memory.
    pub reads: Option<Arc<Counter<EpShared>>>,
    /// Writes to remote memory.
    pub writes: Option<Arc<Counter<EpShared>>>,
}

impl Plan {
    /// Removes the endpoint that this is the plan of, because it closes, from everything that it is bound to.
    pub fn leave(&self, ep: &Arc<EpShared>) {
        let targets = [&self.tx, &self.rx];
        let queues = targets.iter().filter_map(|target| target.queue.as_ref()).map(|queue| &queue.members);
        let counters = targets
            .iter()
            .filter_map(|target| target.counter.as_ref())
            .chain(&self.reads)
            .chain(&self.writes);
        let counters = counters.map(|counter| &counter.members);
        let space = self.space.iter().map(|space| &space.members);
        queues.chain(counters).chain(space).for_each(|members| members.remove(ep));
    }

    /// The endpoint's wiring, if it is bound to everything that it needs.
    pub fn wiring(&self) -> Ret<Wiring> {
        let space = self.space.clone().ok_or(Errno(FI_ENOAV))?;
        if [&self.tx, &self.rx].iter().all(|target| target.queue.is_none() && target.counter.is_none()) {
            return Err(Errno(FI_ENOCQ));
        }
        let (reads, writes) = (self.reads.clone(), self.writes.clone());
        Ok(Wiring { tx: self.tx.clone(), rx: self.rx.clone(), reads, writes, space })
    }
}

impl Target {
    /// What the engine is to report of an operation. `completion`: it gives one when it succeeds.
    #[inline]
    pub fn report(&self, completion: bool) -> Report {
        match (completion, &self.counter) {
            (true, _) => Report::Completion,
            (false, Some(_)) => Report::Quiet,
            (false, None) => Report::Failure,
        }
    }

    /// Counts an operation that is over, if there is a counter.
    pub fn count(&self, entry: &Entry) {
        if let Some(counter) = &self.counter {
            counter.count(entry.fault.is_none());
        }
    }

    /// Reports an operation to the queue, or to the queue's reader, if there is a queue.
    pub fn report_to(&self, entry: Entry, reader: Option<&mut Reader<'_>>) {
        if let Some(queue) = &self.queue {
            queue.entries.report(entry, reader);
        }
    }

    /// Whether a success is to be written to this reader now, and is not counted.
    #[inline(always)]
    pub fn goes_to(&self, reader: &Reader<'_>) -> bool {
        self.counter.is_none() && self.queue.as_ref().is_some_and(|queue| reader.waits_for(&queue.entries))
    }

    /// Whether an operation with these flags is to give a completion when it succeeds.
    #[inline]
    pub fn reports(&self, flags: u64) -> bool {
        self.queue.is_some() && (!self.selective || flags & FI_COMPLETION != 0)
    }
}
