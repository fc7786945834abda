//! Checkpoints: the processes of a job as they stood still on all its hosts at once, and how they go on from
//! there.
//!
//! The daemon that keeps the queue has all hosts of a job save their processes ([`ImageOrder::Save`]). Those
//! of each host stand still from then on. When all hosts have saved theirs, all go on
//! ([`ImageOrder::Settle`]), or, at a restart, when all hosts have theirs again ([`ImageOrder::GoOn`]). No
//! process runs between the two on any host, so no host has received what another has not sent: what was on
//! its way is lost, and the transport sends it again.
//!
//! If its user wants that, each host sends a copy of what it has saved to another one, while the job goes on,
//! and gets it back from there at a restart if its own is missing or damaged.

use crate::{Epoch, JobId, Start};
use serde::{Deserialize, Serialize};

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
        /// The host that is to be sent a copy, if it is kept.
        copy: Option<String>,
    },
    /// Make the processes of a job as they were saved, standing still.
    Restore {
        /// The job.
        start: Box<Start>,
        /// The checkpoint.
        epoch: Epoch,
        /// The host that has a copy of what is missing or damaged here, if one was wanted.
        copy: Option<String>,
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
    /// The other host has a copy of what is saved here, or why it has not.
    Copied {
        /// The job.
        job: JobId,
        /// The checkpoint.
        epoch: Epoch,
        /// What came of it.
        outcome: Result<(), String>,
    },
    /// It joins the others, and has checkpoints of a job, or copies of such, on its disk.
    Stored {
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
            ImageReport::Saved { job, .. }
            | ImageReport::Restored { job }
            | ImageReport::Copied { job, .. }
            | ImageReport::Stored { job }
            | ImageReport::Back { job } => *job,
        }
    }
}
