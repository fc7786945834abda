//! What an MPI must know of the hosts.

use crate::{RunError, setup::cores};
use std::thread;
use tasuki_cluster::{
    AddressPlan, AddressStyle, Cluster, Host, HostId, IDENTITY_INTERFACE, LAB_MANAGEMENT, SshOptions,
};
use tasuki_fleet::Fleet;
use tasuki_lab::{HOST_AGENT, MANAGEMENT_INTERFACE};
use tasuki_launch::{Binding, Facts, Management};

/// What an MPI must know of a fleet's hosts to run so many ranks on them.
///
/// # Errors
/// If the cluster of the fleet has no plan of addresses.
pub fn facts(fleet: &Fleet, ranks: u32) -> Result<Facts, RunError> {
    match fleet {
        Fleet::Local => Ok(local_facts(ranks)),
        Fleet::Lab(lab) => Ok(lab_facts(&lab.cluster, ranks)),
        Fleet::Ssh(hosts) => cluster_facts(&hosts.cluster, ranks),
    }
}

/// MPIs are told of one network that leads to all hosts; a cluster with one subnet per cable has none.
///
/// # Errors
/// If the cluster is such a one.
pub fn check_one_network(cluster: &Cluster) -> Result<(), RunError> {
    if cluster.addressing.style == AddressStyle::Identity {
        return Ok(());
    }
    Err(RunError::NoCommonNetwork(cluster.name.clone()))
}

/// What an MPI must know of a lab of this cluster. All hosts of a lab share this machine's cores.
pub fn lab_facts(cluster: &Cluster, ranks: u32) -> Facts {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    Facts {
        identity_interface: IDENTITY_INTERFACE.into(),
        management: Some(Management {
            network: LAB_MANAGEMENT,
            address: cluster.lab_management(HostId(0)),
            interface: MANAGEMENT_INTERFACE.into(),
        }),
        agent: Some(HOST_AGENT.into()),
        hosts: cluster.hosts.len(),
        oversubscribed: ranks > cores,
        binding: Binding::None,
    }
}

/// The cluster that this machine alone is. Every launcher knows its host by this name to be the machine that
/// it runs on, whatever the machine is called.
pub(crate) fn local_cluster() -> Cluster {
    let host = Host {
        name: "localhost".into(),
        management: None,
        ssh: SshOptions::default(),
        cores: Some(cores()),
        rack: None,
        module: None,
        relay: false,
        delay: None,
        nics: Vec::new(),
    };
    Cluster { hosts: vec![host], ..Cluster::empty("this machine".into()) }
}

fn local_facts(ranks: u32) -> Facts {
    Facts {
        identity_interface: "lo".into(),
        management: None,
        agent: None,
        hosts: 1,
        oversubscribed: ranks > cores(),
        binding: Binding::Library,
    }
}

/// What an MPI must know of real machines reached over ssh, of which this one is one.
pub(crate) fn cluster_facts(cluster: &Cluster, ranks: u32) -> Result<Facts, RunError> {
    AddressPlan::new(cluster)?;
    let slots: u32 = cluster.hosts.iter().map(|host| host.cores.unwrap_or(1)).sum();
    // The route to any other host's management address shows which of this machine's interfaces leads there.
    let addresses = cluster.hosts.iter().filter_map(|host| host.management.as_ref()?.address().parse().ok());
    let management = addresses.filter_map(|address| Management::towards(address).ok().flatten());
    Ok(Facts {
        identity_interface: IDENTITY_INTERFACE.into(),
        management: management.into_iter().find(|found| found.interface != "lo"),
        agent: None,
        hosts: cluster.hosts.len(),
        oversubscribed: ranks > slots,
        binding: Binding::Library,
    })
}
