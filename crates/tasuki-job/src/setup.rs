//! Whether hosts are set up for a job over Tasuki. Without `tasuki apply` a host has neither the identity
//! address nor the table of rails, and a message layer without them would use whatever network leads to the
//! other hosts, which is the management network.

use crate::{
    RunError, check_one_network,
    version::{check_same_everywhere, is_own},
};
use nix::{
    ifaddrs::getifaddrs,
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsStr,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};
use tasuki_cluster::{AddressPlan, Cluster, HostRail, RailTable};
use tasuki_fleet::{Fleet, HostError, Task};

/// The hidden subcommand of `tasuki` that prints a host's [`JobFacts`] as JSON.
pub const FACTS_COMMAND: &str = "job-facts";

/// What messages say has set up a host whose table of rails is not the one of the cluster file at hand.
pub const OTHER_FILE: &str = "another cluster file, or by this one before it was changed";

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
}

/// The answer of every host, with its name.
pub(crate) type Answers = Vec<(String, Result<JobFacts, HostError>)>;

impl JobFacts {
    /// The facts of the host that this process runs on, which is asked whether it has `paths`.
    pub fn local(paths: &[PathBuf]) -> Self {
        let address =
            |interface: nix::ifaddrs::InterfaceAddress| Some(interface.address?.as_sockaddr_in()?.ip());
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            cores: cores(),
            rails: RailTable::load(Path::new(RailTable::PATH)).ok(),
            addresses: getifaddrs().into_iter().flatten().filter_map(address).collect(),
            lacks: paths.iter().filter(|path| !path.exists()).cloned().collect(),
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
    let answers = fleet.run_all(&Task::tasuki(words.chain(paths.iter().map(|path| path.as_os_str()))));
    answers.into_iter().map(|answer| (answer.host.clone(), answer.json::<JobFacts>())).collect()
}

/// What hosts must be for a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Hosts that answer: jobs run over TCP.
    Reached,
    /// Hosts that are set up for jobs over Tasuki, as [`crate::PreparedJob::run`] has it.
    Tasuki,
    /// Hosts that are set up: the addresses of their NICs are used.
    SetUp,
}

/// Asks all hosts of a fleet what there is to know of them, and returns the fleet's cluster with a number of
/// cores for every host.
///
/// # Errors
/// If the cluster has no network that leads to all hosts, a host does not answer, or a host is not as
/// `readiness` has it; the error names the hosts and the command that helps.
pub fn ready_cluster(fleet: &Fleet, readiness: Readiness) -> Result<Cluster, RunError> {
    let cluster = fleet.cluster().ok_or(RunError::NoCluster)?;
    check_one_network(cluster)?;
    let answers = ask(fleet, &[]);
    match readiness {
        Readiness::Reached => silent(&answers).map_or(Ok(()), |text| Err(RunError::NotSetUp(text)))?,
        Readiness::Tasuki => check_ready(fleet, &answers, OR_TCP)?,
        Readiness::SetUp => check_ready(fleet, &answers, "")?,
    }
    Ok(with_cores(cluster, &answers))
}

/// What else helps, besides setting hosts up, where a job could run over TCP.
pub(crate) const OR_TCP: &str = " (or --transport tcp)";

/// What else helps where a program is missing, for programs that can be sent.
pub(crate) const OR_COPY: &str = "; or `tasuki run --copy` sends it to all hosts for the job, with its \
                                  libraries and the files of --files";

/// Refuses a job over Tasuki whose hosts cannot run it. `alternative` is said behind the command that sets
/// hosts up.
///
/// # Errors
/// If hosts do not answer, have another version of Tasuki, or are not set up by this fleet's cluster file;
/// the error names them.
pub(crate) fn check_ready(fleet: &Fleet, answers: &Answers, alternative: &str) -> Result<(), RunError> {
    let cluster = fleet.cluster().ok_or(RunError::NoCluster)?;
    let same = answers.iter().all(|(_, answer)| answer.as_ref().is_ok_and(|facts| is_own(&facts.version)));
    if let (Fleet::Ssh(_), false) = (fleet, same) {
        // An older version does not know the question, and is asked for its version.
        check_same_everywhere(cluster)?;
    }
    let remedy = format!("`{}`{alternative}", fleet.apply_command());
    let tables = RailTable::of_all(cluster, &AddressPlan::new(cluster)?, None);
    match complaint(&tables, answers, &remedy) {
        None => Ok(()),
        Some(text) => Err(RunError::NotSetUp(text)),
    }
}

/// What is wrong with the hosts' answers, if something is. `tables` are the hosts' tables as the cluster file
/// has them, in the order of the answers; `remedy` is what helps where hosts are not set up.
fn complaint(tables: &[RailTable], answers: &Answers, remedy: &str) -> Option<String> {
    if let Some(errors) = silent(answers) {
        return Some(errors);
    }
    let (mut bare, mut other) = (Vec::new(), Vec::new());
    for (table, (host, answer)) in tables.iter().zip(answers) {
        let Ok(facts) = answer else { continue };
        match &facts.rails {
            Some(rails) if facts.addresses.contains(&rails.identity) => {
                if !is_same_cabling(rails, table) {
                    other.push(host.as_str());
                }
            }
            _ => bare.push(host.as_str()),
        }
    }
    let are =
        |hosts: &[&str]| format!("{} {}", hosts.join(", "), if hosts.len() == 1 { "is" } else { "are" });
    let mut all = Vec::new();
    if !bare.is_empty() {
        all.push(format!("{} not set up: {remedy}", are(&bare)));
    }
    if !other.is_empty() {
        all.push(format!("{} set up by {OTHER_FILE}: {remedy}", are(&other)));
    }
    (!all.is_empty()).then(|| all.join("\n"))
}

/// Refuses a job whose program is missing on hosts that have ranks. Hosts that did not answer are passed
/// over: others say more of them. `alternative` is said behind what helps.
///
/// # Errors
/// If there are such hosts; the error names them, the path, and what helps.
pub(crate) fn check_program(answers: &Answers, hosts: &[String], alternative: &str) -> Result<(), RunError> {
    let lacking = answers.iter().filter(|(host, _)| hosts.contains(host));
    let lacking = lacking.filter_map(|(host, answer)| {
        let path = answer.as_ref().ok()?.lacks.first()?;
        Some(format!("{host}: there is no {}", path.display()))
    });
    let lacking: Vec<_> = lacking.collect();
    if lacking.is_empty() {
        return Ok(());
    }
    Err(RunError::NoProgram(format!("{}\nPut it there, at the same path{alternative}", lacking.join("\n"))))
}

/// The errors of the hosts that did not answer, one a line; `None`: all hosts answered.
fn silent(answers: &Answers) -> Option<String> {
    let errors: Vec<_> =
        answers.iter().filter_map(|(_, answer)| Some(answer.as_ref().err()?.to_string())).collect();
    (!errors.is_empty()).then(|| errors.join("\n"))
}

/// Whether two tables have the same hosts, addresses and NICs. Options of `apply` and `lab up` set rates, and
/// a lab's MTU may be smaller, so that these two may differ.
pub fn is_same_cabling(a: &RailTable, b: &RailTable) -> bool {
    let ends = |rails: &[HostRail]| {
        let ends = rails.iter().map(|rail| (rail.rail, rail.nic.clone(), rail.local, rail.remote));
        ends.collect::<Vec<_>>()
    };
    let peers = |table: &RailTable| {
        let peers = table.peers.iter();
        peers.map(|(address, peer)| (*address, peer.host.clone(), ends(&peer.rails))).collect::<Vec<_>>()
    };
    (&a.host, a.identity) == (&b.host, b.identity) && peers(a) == peers(b)
}

/// The cluster with a number of cores for every host: the file's, or, where the file has none, what the host
/// itself says. A host that does not answer counts as one core.
pub(crate) fn with_cores(cluster: &Cluster, answers: &Answers) -> Cluster {
    let mut cluster = cluster.clone();
    for (host, (_, answer)) in cluster.hosts.iter_mut().zip(answers) {
        let own = answer.as_ref().map_or(1, |facts| facts.cores);
        host.cores.get_or_insert(own);
    }
    cluster
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::generate::{Options, generate};

    fn tables(shape: &str) -> Vec<RailTable> {
        let cluster = generate(&shape.parse().unwrap(), &Options::default()).unwrap();
        RailTable::of_all(&cluster, &AddressPlan::new(&cluster).unwrap(), None)
    }

    /// Answers of hosts that have these tables.
    fn answers(tables: &[RailTable]) -> Answers {
        let facts = |table: &RailTable| JobFacts {
            version: "0".into(),
            cores: 8,
            rails: Some(table.clone()),
            addresses: vec![table.identity],
            lacks: Vec::new(),
        };
        tables.iter().map(|table| (table.host.clone(), Ok(facts(table)))).collect()
    }

    fn said(tables: &[RailTable], answers: &Answers) -> String {
        complaint(tables, answers, "`tasuki apply FILE` (or --transport tcp)").unwrap_or_default()
    }

    #[test]
    fn hosts_that_are_set_up_may_run() {
        let tables = tables("full:3");
        assert_eq!(said(&tables, &answers(&tables)), "");
        // Another rate is an option of `apply`, not another cluster.
        let mut slower = tables.clone();
        slower[0].peers.values_mut().for_each(|peer| peer.rails[0].rate_mbits = 33);
        assert_eq!(said(&tables, &answers(&slower)), "");
    }

    #[test]
    fn hosts_without_a_table_or_their_address_are_not_set_up() {
        let tables = tables("full:3");
        let mut found = answers(&tables);
        found[1].1.as_mut().unwrap().rails = None;
        assert_eq!(said(&tables, &found), "n2 is not set up: `tasuki apply FILE` (or --transport tcp)");
        // A table that outlived a restart is of no use without the address.
        found[2].1.as_mut().unwrap().addresses.clear();
        assert_eq!(said(&tables, &found), "n2, n3 are not set up: `tasuki apply FILE` (or --transport tcp)");
    }

    #[test]
    fn hosts_that_another_file_has_set_up_are_named() {
        let mut other = tables("full:3");
        other[2].peers.values_mut().next().unwrap().rails[0].nic = "eth9".into();
        let said = said(&tables("full:3"), &answers(&other));
        assert!(said.starts_with("n3 is set up by another cluster file, or"), "{said}");
        assert!(said.contains(": `tasuki apply FILE` (or --transport tcp)"), "{said}");
    }

    #[test]
    fn a_host_that_does_not_answer_is_an_error_and_not_called_bare() {
        let tables = tables("full:2");
        let mut found = answers(&tables);
        found[1].1 = Err(HostError { host: "n2".into(), why: "no answer".into(), remedy: None });
        let said = said(&tables, &found);
        assert!(said.contains("no answer") && !said.contains("set up"), "{said}");
    }

    #[test]
    fn cores_of_the_file_go_before_those_that_a_host_has() {
        let mut cluster = generate(&"full:2".parse().unwrap(), &Options::default()).unwrap();
        cluster.hosts[0].cores = Some(3);
        cluster.hosts[1].cores = None;
        let known = with_cores(&cluster, &answers(&tables("full:2")));
        assert_eq!([known.hosts[0].cores, known.hosts[1].cores], [Some(3), Some(8)]);
    }

    #[test]
    fn this_host_has_a_core_and_a_version() {
        let facts = JobFacts::local(&["/etc".into(), "/no/such/file".into()]);
        assert_eq!(facts.lacks, [PathBuf::from("/no/such/file")]);
        assert!(facts.cores >= 1 && is_own(&facts.version), "{facts:?}");
    }
}
