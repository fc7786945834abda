//! The hosts that a command's arguments name.

use tasuki_args::RemoteArgs;
use tasuki_cluster::Cluster;
use tasuki_fleet::{Fleet, LabHosts, SshHosts};
use tasuki_terminal::Failure;

/// Says which hosts do not answer, each with the reason, and what may help.
pub fn tell_missing(fleet: &Fleet, missing: &[String]) {
    missing.iter().for_each(|problem| eprintln!("tasuki: {problem}"));
    if matches!(fleet, Fleet::Ssh(_)) && !missing.is_empty() {
        eprintln!("tasuki: are they on? `management` in the cluster file says how ssh reaches a host");
    }
}

/// The hosts of a lab, held against the cluster if one is given too; or the cluster's machines, over ssh.
/// `None`: neither is named.
pub fn named(
    lab: Option<&str>,
    cluster: Option<Cluster>,
    remote: &RemoteArgs,
) -> Result<Option<Fleet>, Failure> {
    if let Some(name) = lab {
        let lab = LabHosts::running(Some(name))?;
        let lab = match cluster {
            Some(cluster) => lab.held_against(cluster),
            None => lab,
        };
        return Ok(Some(Fleet::Lab(Box::new(lab))));
    }
    let Some(cluster) = cluster else { return Ok(None) };
    let (ssh, tasuki) = remote.commands()?;
    Ok(Some(Fleet::Ssh(Box::new(SshHosts::through(cluster, ssh, tasuki)))))
}

/// The only lab that is up, for commands that are never about this machine alone.
pub fn only_lab() -> Result<Fleet, Failure> {
    match Fleet::find(None, None)? {
        Fleet::Local => Err(Failure::new("name a cluster file, or a --lab: no lab is up")),
        fleet => Ok(fleet),
    }
}
