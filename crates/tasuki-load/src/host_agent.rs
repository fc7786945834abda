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
    limit: Duration,
}

impl HostAgent {
    pub fn new(host: usize) -> Self {
        Self { host, agent: None, limit: LIMIT }
    }

    /// What the host says, or why it does not answer.
    pub fn look(&mut self, fleet: &Fleet) -> Result<HostSample, String> {
        let start = || Agents::start_on(fleet, [self.host], &Task::tasuki([AGENT_COMMAND]));
        let agent = self.agent.get_or_insert_with(start);
        let answer = agent.tell::<_, HostSample>(self.limit, |_| Some("look")).into_iter().next().flatten();
        let answer = answer.unwrap_or_else(|| Err("it was not asked".into()));
        if answer.is_err()
            && let Some(agent) = self.agent.take()
        {
            // A host that does not answer was waited for long enough.
            agent.abandon();
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tasuki_cluster::Cluster;
    use tasuki_fleet::SshHosts;

    /// An ssh whose host is frozen does not see the end of its input: waiting for its end is in vain.
    #[test]
    fn a_host_that_does_not_answer_is_waited_for_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let [ssh, ended] = ["ssh", "ended"].map(|name| folder.path().join(name));
        // It would say so if it were given the time to end by itself.
        let script = format!("cat >/dev/null; sleep 1; touch '{}'; exec sleep 1000", ended.display());
        fs::write(&ssh, script).expect("writes");
        let file = "[[host]]\nname = \"frozen\"\nmanagement = \"192.0.2.1\"\nnic = [{ name = \"eth1\" }]\n";
        let cluster = Cluster::parse(file, None).expect("a cluster");
        let ssh = vec!["sh".into(), ssh.display().to_string()];
        let fleet = Fleet::Ssh(Box::new(SshHosts::through(cluster, ssh, vec!["tasuki".into()])));
        let mut agent = HostAgent { limit: Duration::from_millis(200), ..HostAgent::new(0) };
        for _ in 0..2 {
            assert_eq!(agent.look(&fleet).unwrap_err(), "it does not answer any more");
        }
        assert!(!ended.exists(), "it was waited for");
    }
}
