//! Jobs that share processors: what a job asks for, the table of slices that all hosts follow, and how well
//! a host keeps to it.

use crate::JobId;
use serde::{Deserialize, Serialize};

/// How a job gets on with others. A field that an older version did not write down has its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sharing {
    /// It takes turns with other such jobs on the same slots. Otherwise its slots are its own.
    pub share: bool,
    /// It begins at once; jobs on its hosts stand still until it is over.
    pub urgent: bool,
    /// Memory that each rank needs, in bytes, if its user says so.
    pub memory: Option<u64>,
}

/// The table of slices: which jobs run when. Row `r` of `n` runs in the slices `r`, `r + n`, `r + 2n` and so
/// on since `from`. Jobs that it does not name run all the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Grows with every table of a queue.
    pub generation: u64,
    /// When it begins to hold, ns of the monotonic clock of the host that keeps the queue.
    pub from: u64,
    /// Length of a slice, ns.
    pub slice: u64,
    /// Jobs that run at once, row by row. A job may be in several rows.
    pub rows: Vec<Vec<JobId>>,
    /// Jobs that stand still as long as this table holds.
    pub paused: Vec<JobId>,
}

/// How well a host keeps to the instants of the table. Numbers of jobs and instants since its daemon began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Punctuality {
    /// Times that a job was frozen or thawed by the table.
    pub switches: u64,
    /// Of these: more than 100 us after the instant.
    pub late: u64,
    /// Of these: more than 2 ms after the instant.
    pub missed: u64,
    /// The longest time after an instant.
    pub worst_ns: u64,
}

impl Punctuality {
    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.switches = self.switches.saturating_add(other.switches);
        self.late = self.late.saturating_add(other.late);
        self.missed = self.missed.saturating_add(other.missed);
        self.worst_ns = self.worst_ns.max(other.worst_ns);
    }
}
