//! What hosts are asked before a job, and their answers.

use crate::{
    daemons::own_addresses,
    way_back::{self, Door, WayBack},
};
use nix::{
    ifaddrs::getifaddrs,
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsStr,
    io::Read,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};
use tasuki_cluster::RailTable;
use tasuki_fleet::{Fleet, HostError, Task};

/// The hidden subcommand of `tasuki` that prints a host's [`JobFacts`] as JSON.
pub const FACTS_COMMAND: &str = "job-facts";

/// What a host says of itself before a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFacts {
    /// Version of its `tasuki`.
    pub version: String,
    /// Number of cores that processes of this user may run on (sched_getaffinity(2)).
    pub cores: u32,
    /// Its table of rails; `None`: there is none, or it is not in order.
    pub rails: Option<RailTable>,
    /// Its IPv4 addresses.
    pub addresses: Vec<Ipv4Addr>,
    /// Those of the paths it was asked for that it lacks.
    #[serde(default)]
    pub lacks: Vec<PathBuf>,
    /// Whether it can connect to those addresses of the asking machine that it was asked about.
    #[serde(default)]
    pub back: Vec<WayBack>,
}

/// The answer of every host, with its name.
pub(crate) type Answers = Vec<(String, Result<JobFacts, HostError>)>;

impl JobFacts {
    /// The facts of the host that this process runs on, which is asked whether it has `paths`, and by
    /// `question` whether it can connect to the machine that asks.
    pub fn local(paths: &[PathBuf], question: impl Read) -> Self {
        let address =
            |interface: nix::ifaddrs::InterfaceAddress| Some(interface.address?.as_sockaddr_in()?.ip());
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            cores: cores(),
            rails: RailTable::load(Path::new(RailTable::PATH)).ok(),
            addresses: getifaddrs().into_iter().flatten().filter_map(address).collect(),
            lacks: paths.iter().filter(|path| !path.exists()).cloned().collect(),
            back: way_back::answer(question),
        }
    }
}

/// Number of cores that this process may run on, at least 1.
pub(crate) fn cores() -> u32 {
    let allowed = sched_getaffinity(Pid::from_raw(0));
    let count =
        |set: CpuSet| (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or(false)).count() as u32;
    allowed.map_or(1, count).max(1)
}

/// Asks all hosts of a fleet for their [`JobFacts`], and whether they have `paths`.
pub(crate) fn ask(fleet: &Fleet, paths: &[PathBuf]) -> Answers {
    let words = [FACTS_COMMAND, "--"].map(OsStr::new);
    let words = words.into_iter().take(if paths.is_empty() { 1 } else { 2 });
    let task = Task::tasuki(words.chain(paths.iter().map(|path| path.as_os_str())));
    // Hosts of a lab have a network of their own that leads to the launcher. Without descriptors nothing is
    // asked: the launcher will say so.
    let door = match fleet {
        Fleet::Ssh(hosts) => Door::open(&own_addresses(&hosts.cluster)).ok(),
        Fleet::Local | Fleet::Lab(_) => None,
    };
    let answers = fleet.run_all(&match &door {
        Some(door) => task.input(door.question()),
        None => task,
    });
    answers.into_iter().map(|answer| (answer.host.clone(), answer.json::<JobFacts>())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::is_own;

    #[test]
    fn this_host_has_a_core_and_a_version() {
        let facts = JobFacts::local(&["/etc".into(), "/no/such/file".into()], std::io::empty());
        assert_eq!(facts.lacks, [PathBuf::from("/no/such/file")]);
        assert!(facts.cores >= 1 && is_own(&facts.version), "{facts:?}");
    }
}
