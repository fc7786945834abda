//! The last checkpoint of a job, as it is shown and kept.

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
    /// Whether what each host has of it is on the disk of another host, too.
    #[serde(default)]
    pub copied: bool,
}

impl Checkpoint {
    /// What it took, as a table shows it.
    pub fn cost(&self) -> String {
        format!("{:.1} MiB in {:.2} s", self.mib(), self.seconds())
    }

    fn mib(&self) -> f64 {
        self.bytes as f64 / f64::from(1 << 20)
    }

    fn seconds(&self) -> f64 {
        self.millis as f64 / 1000.0
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mib, seconds) = (self.mib(), self.seconds());
        write!(f, "checkpoint {}: {mib:.1} MiB; the job stood still for {seconds:.2} s", self.epoch)
    }
}
