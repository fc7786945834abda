//! Traces of the messages of a parallel program, and their replay: `docs/reference/trace-format.md` has the
//! format.

mod carrier;
mod parse;
mod replay;
mod steps;
mod striped;
mod times;

pub use parse::TraceError;
pub use replay::{Replay, Replayed};
pub use striped::{CableUse, Cables, Path, Striped, StripedError, replay_striped};
pub use times::{LEAST_BYTES, TraceTimes};

/// What the ranks of a program did, in order for each rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Events by rank.
    pub(super) events: Vec<Vec<Event>>,
    /// Groups of ranks that take part in collective operations together; the first group has all ranks.
    pub(super) groups: Vec<Vec<u32>>,
}

impl Trace {
    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.events.len()
    }
    /// Whether any rank sends to another one.
    pub fn has_messages(&self) -> bool {
        let groups = |what: What| match what {
            What::Send { .. } => true,
            What::Collective { group, .. } => self.groups[group as usize].len() > 1,
            What::Receive { .. } | What::End => false,
        };
        self.events.iter().flatten().any(|event| groups(event.what))
    }
    /// This trace, in which every rank computes for `ps` picoseconds in all, as long before each of its
    /// events.
    #[must_use]
    pub fn with_computing(mut self, ps: u64) -> Trace {
        for events in &mut self.events {
            let each = ps / events.len().max(1) as u64;
            events.iter_mut().for_each(|event| event.compute_ps = each);
        }
        self
    }
    /// Number of events of all ranks.
    pub fn events(&self) -> usize {
        self.events.iter().map(Vec::len).sum()
    }
}

/// A line of the trace: computing, then an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Event {
    pub line: u32,
    /// Time of computing, ps.
    pub compute_ps: u64,
    pub what: What,
    pub bytes: u64,
}

/// Operations. Peers and roots are ranks; groups are indices of [`Trace::groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Send { to: u32 },
    Receive { from: u32 },
    Collective { kind: Collective, root: u32, group: u32 },
    End,
}

/// Operations of a whole group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collective {
    Barrier,
    Broadcast,
    Reduce,
    AllReduce,
    AllGather,
    AllToAll,
    Gather,
    Scatter,
}
