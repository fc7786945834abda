//! Checkpoints: the processes of a job as they stood still on all its hosts at once, and how they go on from
//! there.
//!
//! The daemon that keeps the queue has all hosts of a job save their processes ([`ImageOrder::Save`]). Those
//! of each host stand still from then on. When all hosts have saved theirs, all go on
//! ([`ImageOrder::Settle`]), or, at a restart, when all hosts have theirs again ([`ImageOrder::GoOn`]). No
//! process runs between the two on any host, so no host has received what another has not sent: what was on
//! its way is lost, and the transport sends it again.

use crate::{JobId, Start};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which checkpoint of a job it is: the second since 1970 in which it was begun, or the one after the last
/// checkpoint of the job.
pub type Epoch = u64;

/// The last checkpoint of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Which one it is.
    pub epoch: Epoch,
    /// When all hosts had saved their processes, seconds since 1970.
    pub taken: u64,
    /// Size on the disks of all hosts, bytes.
    pub bytes: u64,
    /// How long the job stood still for it, milliseconds.
    pub millis: u64,
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mib, seconds) = (self.bytes as f64 / f64::from(1 << 20), self.millis as f64 / 1000.0);
        write!(f, "checkpoint {}: {mib:.1} MiB; the job stood still for {seconds:.2} s", self.epoch)
    }
}

/// What a host is told of checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageOrder {
    /// Have the processes of a job stand still, and save them.
    Save {
        /// The job.
        job: JobId,
        /// The checkpoint.
        epoch: Epoch,
    },
    /// All hosts have saved theirs, or one could not: the processes go on.
    Settle {
        /// The job.
        job: JobId,
        /// The checkpoint.
        epoch: Epoch,
        /// It is whole and kept; the one before may go. Otherwise it is removed.
        keep: bool,
    },
    /// Make the processes of a job as they were saved, standing still.
    Restore {
        /// The job.
        start: Box<Start>,
        /// The checkpoint.
        epoch: Epoch,
    },
    /// All hosts have theirs: the processes go on.
    GoOn {
        /// The job.
        job: JobId,
    },
    /// Remove all checkpoints of a job.
    Discard {
        /// The job.
        job: JobId,
    },
}

/// What a host tells of checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageReport {
    /// Its processes of a job stand still and are saved: bytes on its disk. Or why they are not; they go on
    /// then.
    Saved {
        /// The job.
        job: JobId,
        /// The checkpoint.
        epoch: Epoch,
        /// What came of it.
        outcome: Result<u64, String>,
    },
    /// It has its processes of a job again, standing still.
    Restored {
        /// The job.
        job: JobId,
    },
    /// Its processes of a job go on. What was said to them meanwhile was lost.
    Back {
        /// The job.
        job: JobId,
    },
}

impl ImageOrder {
    /// The job that it is about.
    pub fn job(&self) -> JobId {
        match self {
            ImageOrder::Restore { start, .. } => start.job,
            ImageOrder::Save { job, .. }
            | ImageOrder::Settle { job, .. }
            | ImageOrder::GoOn { job }
            | ImageOrder::Discard { job } => *job,
        }
    }
}

impl ImageReport {
    /// The job that it is about.
    pub fn job(&self) -> JobId {
        match self {
            ImageReport::Saved { job, .. } | ImageReport::Restored { job } | ImageReport::Back { job } => {
                *job
            }
        }
    }
}
