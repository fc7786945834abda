//! Jobs whose end could not be written down, for instance because the disk is full.

use std::collections::BTreeMap;
use tasuki_control::{Bytes, JobId};

/// Such jobs.
#[derive(Default)]
pub(super) struct Unwritten {
    /// With the path along which there are programs that tell the user, if somebody is to be told.
    jobs: BTreeMap<JobId, Option<Option<Bytes>>>,
    /// The second in which writing them down was tried last.
    tried: u64,
}

impl Unwritten {
    /// The end of a job could not be written down now. Returns whether that is news.
    pub fn add(&mut self, now: u64, job: JobId) -> bool {
        self.tried = now;
        let is_new = !self.has(job);
        self.jobs.entry(job).or_default();
        is_new
    }

    /// Whether the end of a job is not written down.
    pub fn has(&self, job: JobId) -> bool {
        self.jobs.contains_key(&job)
    }

    /// The user of such a job is to be told later, with programs along this path.
    pub fn tell_later(&mut self, job: JobId, path: Option<Bytes>) {
        self.jobs.insert(job, Some(path));
    }

    /// All such jobs, once in a second.
    pub fn due(&mut self, now: u64) -> Vec<JobId> {
        match std::mem::replace(&mut self.tried, now) == now {
            true => Vec::new(),
            false => self.jobs.keys().copied().collect(),
        }
    }

    /// The end of a job is written down now. Returns how its user is to be told, if that is wanted.
    pub fn remove(&mut self, job: JobId) -> Option<Option<Bytes>> {
        self.jobs.remove(&job).flatten()
    }
}
