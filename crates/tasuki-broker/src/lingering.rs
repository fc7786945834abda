//! Lanes whose clients have gone and which some process still has. Times are milliseconds since an arbitrary
//! beginning.

use crate::work::{Held, Job, Lane};

/// How often the broker looks again whether lanes are used, milliseconds.
const LINGER_MS: u64 = 1_000;
/// After this time it looks again for the first time whether anybody has the socket of a lane, milliseconds:
/// programs that end leave closing their sockets to the kernel, which takes it some milliseconds.
const FIRST_MS: u64 = 50;
/// The user in whose turns it looks for sockets: none (this number means that to the kernel, too).
const NOBODY: u32 = u32::MAX;

/// Those lanes, and when they are looked at again.
#[derive(Default)]
pub(crate) struct Lingering {
    /// Their rings are mapped by another process.
    mapped: Vec<Lane>,
    mapped_due: u64,
    /// Another process has their sockets, and no process their rings.
    held: Vec<Held>,
    held_due: u64,
    /// Time between two looks at the latter.
    pause: u64,
}

impl Lingering {
    pub(crate) fn add_mapped(&mut self, now: u64, lane: Lane) {
        self.mapped_due = now + LINGER_MS;
        self.mapped.push(lane);
    }

    /// `again`: they were looked at before.
    pub(crate) fn add_held(&mut self, now: u64, held: Vec<Held>, again: bool) {
        if !held.is_empty() {
            self.pause = if again { (2 * self.pause).min(LINGER_MS) } else { FIRST_MS };
            self.held_due = now + self.pause;
            self.held.extend(held);
        }
    }

    /// When there is something to do.
    pub(crate) fn deadline(&self) -> Option<u64> {
        let mapped = (!self.mapped.is_empty()).then_some(self.mapped_due);
        let held = (!self.held.is_empty()).then_some(self.held_due);
        mapped.into_iter().chain(held).min()
    }

    /// What is to be done now, and in whose turn.
    pub(crate) fn take_due(&mut self, now: u64) -> Vec<(u32, Job)> {
        let mut jobs = Vec::new();
        if now >= self.mapped_due {
            jobs.extend(self.mapped.drain(..).map(|lane| (lane.charge.uid, Job::Close(lane))));
        }
        if now >= self.held_due && !self.held.is_empty() {
            jobs.push((NOBODY, Job::Look(std::mem::take(&mut self.held))));
        }
        jobs
    }
}
