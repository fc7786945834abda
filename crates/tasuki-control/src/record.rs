//! Jobs and hosts as programs are shown them.

use crate::{HostView, JobView, UserLimits};
use serde::Serialize;

/// A job in JSON: what the queue knows, and what follows from it.
#[derive(Debug, Serialize)]
pub struct JobRecord<'a> {
    #[serde(flatten)]
    job: &'a JobView,
    label: String,
    /// Seconds for which it has run, or ran.
    elapsed: Option<u64>,
    /// Seconds from one checkpoint to the next, as things stand.
    interval: Option<u64>,
}

impl<'a> JobRecord<'a> {
    /// The record of a job that has run for so many seconds.
    pub fn of(job: &'a JobView, elapsed: Option<u64>) -> Self {
        Self { job, label: job.label(), elapsed, interval: job.interval() }
    }
}

/// A host in JSON, and the queue where the host keeps it.
#[derive(Debug, Serialize)]
pub struct HostRecord<'a> {
    #[serde(flatten)]
    host: &'a HostView,
    queue: Option<QueueRecord>,
}

/// The queue in JSON.
#[derive(Debug, Serialize)]
struct QueueRecord {
    user_limits: UserLimits,
}

impl<'a> HostRecord<'a> {
    /// The records of these hosts, of which `head` keeps the queue with these limits.
    pub fn all(head: &str, hosts: &'a [HostView], user_limits: UserLimits) -> Vec<Self> {
        let queue = |host: &HostView| (host.host == head).then_some(QueueRecord { user_limits });
        hosts.iter().map(|host| Self { host, queue: queue(host) }).collect()
    }
}
