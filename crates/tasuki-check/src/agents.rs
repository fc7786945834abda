//! The agents of all hosts: all are told something at once, and all answers are awaited.

use crate::protocol::{Answer, Order};
use std::time::Duration;
use tasuki_fleet::{Fleet, Task};

/// The hidden subcommand of `tasuki` that is an agent.
pub const AGENT_COMMAND: &str = "check-agent";

/// The agents of all hosts, in the order of the cluster.
pub struct Agents(tasuki_fleet::Agents);

impl Agents {
    /// Starts an agent on every host of a fleet: [`crate::agent::run`] on the standard input and output of
    /// the host's [`AGENT_COMMAND`]. A host where that fails is among [`Agents::lost`].
    pub fn start(fleet: &Fleet) -> Self {
        Self(tasuki_fleet::Agents::start(fleet, &Task::tasuki([AGENT_COMMAND])))
    }

    /// Number of hosts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no host.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends every host the order that `order` gives for it; for `None` the host is not asked. Waits for all
    /// answers, for no longer than `limit`.
    pub fn tell(
        &mut self,
        limit: Duration,
        order: impl Fn(usize) -> Option<Order>,
    ) -> Vec<Option<Result<Answer, String>>> {
        let done = |answer| match answer {
            Answer::Failed(why) => Err(why),
            answer => Ok(answer),
        };
        let answers = self.0.tell(limit, order).into_iter();
        answers.map(|answer| answer.map(|answer| answer.and_then(done))).collect()
    }

    /// Hosts that were lost, and why.
    pub fn lost(&self) -> Vec<(String, String)> {
        self.0.lost()
    }
}
