//! Where an endpoint reports what, and by which addresses it sends.

use std::sync::Arc;

use tasuki_engine::Report;

use super::EpShared;
use crate::abi::*;
use crate::guard::{Errno, Ret};
use crate::object::cntr::Counter;
use crate::queue::{Entry, Queue, Reader};
use crate::space::Space;

/// Where operations of one direction are reported.
#[derive(Clone, Default)]
pub struct Way {
    /// Completions.
    pub queue: Option<Arc<Queue>>,
    /// Only those operations give completions that ask for one.
    pub selective: bool,
    /// Operations that are over, whether they give completions or not.
    pub counter: Option<Arc<Counter>>,
}

/// All that an enabled endpoint is bound to.
pub struct Wiring {
    /// Sends.
    pub tx: Way,
    /// Receives.
    pub rx: Way,
    /// Reads of remote memory.
    pub reads: Option<Arc<Counter>>,
    /// Writes to remote memory.
    pub writes: Option<Arc<Counter>>,
    /// Addresses.
    pub space: Arc<Space>,
}

/// What has been bound so far.
#[derive(Default)]
pub struct Plan {
    /// Sends.
    pub tx: Way,
    /// Receives.
    pub rx: Way,
    /// Addresses.
    pub space: Option<Arc<Space>>,
    /// One-sided operations of this side that are over.
    pub reads: Option<Arc<Counter>>,
    /// The same.
    pub writes: Option<Arc<Counter>>,
}

impl Plan {
    /// The endpoint that this is about closes: whatever it is bound to forgets it.
    pub fn leave(&self, ep: &Arc<EpShared>) {
        let ways = [&self.tx, &self.rx];
        let queues = ways.iter().filter_map(|way| way.queue.as_ref()).map(|queue| &queue.members);
        let counters =
            ways.iter().filter_map(|way| way.counter.as_ref()).chain(&self.reads).chain(&self.writes);
        let counters = counters.map(|counter| &counter.members);
        let space = self.space.iter().map(|space| &space.members);
        queues.chain(counters).chain(space).for_each(|members| members.remove(ep));
    }

    /// Checks that everything is there that an endpoint needs.
    pub fn wiring(&self) -> Ret<Wiring> {
        let space = self.space.clone().ok_or(Errno(FI_ENOAV))?;
        if [&self.tx, &self.rx].iter().all(|way| way.queue.is_none() && way.counter.is_none()) {
            return Err(Errno(FI_ENOCQ));
        }
        let (reads, writes) = (self.reads.clone(), self.writes.clone());
        Ok(Wiring { tx: self.tx.clone(), rx: self.rx.clone(), reads, writes, space })
    }
}

impl Way {
    /// What the engine is to say of an operation that is, or is not, to give a completion.
    #[inline]
    pub fn report(&self, completion: bool) -> Report {
        match (completion, &self.counter) {
            (true, _) => Report::Completion,
            (false, Some(_)) => Report::Quiet,
            (false, None) => Report::Failure,
        }
    }

    /// An operation is over: it is counted, if anybody counts.
    pub fn count(&self, entry: &Entry) {
        if let Some(counter) = &self.counter {
            counter.count(entry.fault.is_none());
        }
    }

    /// The program is told of it, if anybody listens.
    pub fn report_to(&self, entry: Entry, reader: Option<&mut Reader<'_>>) {
        if let Some(queue) = &self.queue {
            queue.report(entry, reader);
        }
    }

    /// Whether a success is told to this reader now, and to nobody else.
    #[inline(always)]
    pub fn goes_to(&self, reader: &Reader<'_>) -> bool {
        self.counter.is_none() && self.queue.as_ref().is_some_and(|queue| reader.waits_for(queue))
    }

    /// Whether an operation with these flags is to give a completion when it succeeds.
    #[inline]
    pub fn reports(&self, flags: u64) -> bool {
        self.queue.is_some() && (!self.selective || flags & FI_COMPLETION != 0)
    }
}
