//! The hosts, as the queue knows them.

use std::collections::BTreeSet;
use tasuki_control::{JobId, Presence, Punctuality};

/// A host.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub name: String,
    /// Slots that the cluster file gives it; `None`: as many as it has cores.
    pub given: Option<u32>,
    /// Cores that it said it has when it was here last.
    pub cores: u32,
    pub presence: Presence,
    /// Its memory, bytes; 0: unknown.
    pub memory: u64,
    /// How well it keeps to the instants of the table of slices.
    pub turns: Punctuality,
    /// Since when its daemon is away while its jobs go on.
    pub away: Option<u64>,
    /// Jobs that are over or given up, and of which something is left there.
    pub leftovers: BTreeSet<JobId>,
}

impl Host {
    /// Ranks that it is made for.
    pub fn slots(&self) -> u32 {
        self.given.unwrap_or(self.cores).max(1)
    }

    pub fn is_up(&self) -> bool {
        self.presence == Presence::Up
    }

    /// Whether jobs may begin there.
    pub fn takes_jobs(&self) -> bool {
        self.is_up() && self.leftovers.is_empty()
    }

    /// The host in a sentence that says why it is waited for.
    pub fn absence(&self) -> Option<String> {
        match &self.presence {
            Presence::Up => {
                let job = self.leftovers.first()?;
                Some(format!("{} ends job {job}, which went on while its daemon was away", self.name))
            }
            Presence::Lost(why) => Some(format!("{} is lost ({why})", self.name)),
            Presence::Other(version) => Some(format!("{} runs {version}", self.name)),
        }
    }
}
