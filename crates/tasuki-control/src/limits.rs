//! What the jobs of one user may take of a cluster.

use crate::span;
use serde::{Deserialize, Serialize};

/// What the jobs of each user but root may take; `None`: as much as there is. A field that an older version
/// did not write down has its default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserLimits {
    /// Most jobs of a user that have begun and are not over.
    pub jobs: Option<u32>,
    /// Most slots that jobs of a user hold.
    pub slots: Option<u32>,
    /// Most jobs of a user that have not begun.
    pub waiting: Option<u32>,
    /// Longest time that a job may run, seconds. Jobs that say no other time have this one.
    pub time: Option<u64>,
}

impl UserLimits {
    /// The limits in words for people; `None`: there are none.
    pub fn words(&self) -> Option<String> {
        let all = [
            self.jobs.map(|jobs| format!("at most {jobs} jobs that run")),
            self.slots.map(|slots| format!("at most {slots} slots")),
            self.waiting.map(|waiting| format!("at most {waiting} jobs that wait")),
            self.time.map(|time| format!("jobs of at most {}", span(time))),
        ];
        let all: Vec<String> = all.into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}
