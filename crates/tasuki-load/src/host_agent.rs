//! The agent of one host, seen from here.

use crate::{AGENT_COMMAND, HostSample};
use std::time::Duration;
use tasuki_fleet::{Agents, Fleet, Task};

/// How long a host may take for an answer before it is held to be lost: less than the ten seconds for which
/// Prometheus waits.
const LIMIT: Duration = Duration::from_secs(8);

/// The agent of one host of a fleet, which is started when the host is asked. If that host is lost it gets a
/// new agent when it is asked next.
pub(crate) struct HostAgent {
    host: usize,
    agent: Option<Agents>,
}

impl HostAgent {
    pub fn new(host: usize) -> Self {
        Self { host, agent: None }
    }

    /// What the host says, or why it does not answer.
    pub fn look(&mut self, fleet: &Fleet) -> Result<HostSample, String> {
        let start = || Agents::start_on(fleet, [self.host], &Task::tasuki([AGENT_COMMAND]));
        let agent = self.agent.get_or_insert_with(start);
        let answer = agent.tell::<_, HostSample>(LIMIT, |_| Some("look")).into_iter().next().flatten();
        let answer = answer.unwrap_or_else(|| Err("it was not asked".into()));
        if answer.is_err() {
            self.agent = None;
        }
        answer
    }
}
