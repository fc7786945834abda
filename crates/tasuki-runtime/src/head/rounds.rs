//! Jobs whose processes stand still on their hosts for a checkpoint, and what hosts have said of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};
use tasuki_control::{Epoch, JobId};
use tasuki_queue::{Client, HostIndex};

/// A job whose processes stand still on its hosts, or soon will.
pub(super) struct Round {
    pub epoch: Epoch,
    /// They are made again, and not saved.
    pub restores: bool,
    /// The job's hosts.
    pub hosts: Vec<HostIndex>,
    /// Hosts that have not said what came of it.
    pub awaited: BTreeSet<HostIndex>,
    /// Commands that wait for it.
    pub clients: Vec<Client>,
    pub begun: Instant,
    pub bytes: u64,
    /// Why it fails, if it does.
    pub problems: Vec<String>,
}

impl Round {
    /// All hosts of a job are told to save it, or to make it again.
    pub fn begin(epoch: Epoch, restores: bool, hosts: Vec<HostIndex>, clients: Vec<Client>) -> Self {
        let awaited = hosts.iter().copied().collect();
        let (begun, bytes, problems) = (Instant::now(), 0, Vec::new());
        Self { epoch, restores, hosts, awaited, clients, begun, bytes, problems }
    }
}

/// All jobs that stand still for a checkpoint.
#[derive(Default)]
pub(super) struct Rounds(pub BTreeMap<JobId, Round>);

impl Rounds {
    /// For how many seconds a job has been saved or restarted, if it is.
    pub fn seconds(&self, job: JobId) -> Option<u64> {
        self.0.get(&job).map(|round| round.begun.elapsed().as_secs())
    }

    /// Whether a job is being restarted, so that its output is going to end earlier than it does now.
    pub fn restores(&self, job: JobId) -> bool {
        self.0.get(&job).is_some_and(|round| round.restores)
    }

    /// A command has gone, or all of a host.
    pub fn drop_clients(&mut self, is_gone: impl Fn(&Client) -> bool) {
        self.0.values_mut().for_each(|round| round.clients.retain(|client| !is_gone(client)));
    }
}
