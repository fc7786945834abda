//! The hosts that a command's arguments name.

use crate::{args::RemoteArgs, failure::Failure};
use tasuki_cluster::Cluster;
use tasuki_fleet::{Fleet, LabHosts, SshHosts};

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
