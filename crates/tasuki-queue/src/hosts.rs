//! The hosts, as the queue knows them.

use tasuki_control::{Presence, Punctuality};

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
}

impl Host {
    /// Ranks that it is made for.
    pub fn slots(&self) -> u32 {
        self.given.unwrap_or(self.cores).max(1)
    }

    pub fn is_up(&self) -> bool {
        self.presence == Presence::Up
    }

    /// The host in a sentence that says why it is waited for.
    pub fn absence(&self) -> Option<String> {
        match &self.presence {
            Presence::Up => None,
            Presence::Lost(why) => Some(format!("{} is lost ({why})", self.name)),
            Presence::Other(version) => Some(format!("{} runs {version}", self.name)),
        }
    }
}
