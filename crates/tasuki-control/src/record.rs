//! Hosts as programs are shown them.

use crate::{HostView, UserLimits};
use serde::Serialize;

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
