//! The first words between a host's agent and the owner of a job. What follows them are the shepherd's own.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use tasuki_shepherd::JobSpec;

/// The hidden subcommand of `tasuki` that is the agent of a host.
pub const AGENT_COMMAND: &str = "ranks-agent";

/// The version of what both sides say.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The first word of an agent, a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// Version of the agent's `tasuki`. Its name tells this line from what a shell's start file prints.
    pub ranks_agent: String,
    /// A port of the host that is free now.
    pub port: u16,
}

/// What an agent is told first, a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The job of the host. The variables of its program go before those that the host has.
    pub spec: JobSpec,
    /// Variables that list folders, which are added to the host's own lists.
    pub folders: Vec<(OsString, OsString)>,
}

impl Order {
    /// The job with all variables, on a host that has these.
    pub fn on_host(self, mut env: Vec<(OsString, OsString)>) -> JobSpec {
        let Self { mut spec, folders } = self;
        env.retain(|(name, _)| spec.program.env.iter().all(|(given, _)| given != name));
        env.append(&mut spec.program.env);
        for (name, folder) in folders {
            match env.iter_mut().find(|(known, _)| *known == name) {
                Some((_, list)) if !list.is_empty() => {
                    list.push(":");
                    list.push(&folder);
                }
                Some((_, list)) => *list = folder,
                None => env.push((name, folder)),
            }
        }
        spec.program.env = env;
        spec
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_shepherd::{OwnerEnd, Program};

    #[test]
    fn the_jobs_variables_go_before_the_hosts_and_lists_of_folders_are_joined() {
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let program = Program {
            argv: vec!["x".into()],
            env: vec![pair("A", "job"), pair("B", "job")],
            folder: "/".into(),
            umask: None,
        };
        let spec = JobSpec {
            id: "x".into(),
            program,
            ranks: Vec::new(),
            user: None,
            pmi: None,
            owner: OwnerEnd::Kill,
            cgroup: None,
        };
        let folders = vec![pair("PYTHONPATH", "/t"), pair("EMPTY", "/e"), pair("NEW", "/n")];
        let own = vec![pair("A", "host"), pair("HOME", "/h"), pair("PYTHONPATH", "/own"), pair("EMPTY", "")];
        let env = Order { spec, folders }.on_host(own).program.env;
        let expected = [
            pair("HOME", "/h"),
            pair("PYTHONPATH", "/own:/t"),
            pair("EMPTY", "/e"),
            pair("A", "job"),
            pair("B", "job"),
            pair("NEW", "/n"),
        ];
        assert_eq!(env, expected);
    }
}
