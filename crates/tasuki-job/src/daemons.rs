//! The network over which the daemons of a launcher report to the machine on which it runs.

use crate::ask::Answers;
use std::{collections::BTreeSet, ffi::OsStr, net::Ipv4Addr};
use tasuki_cluster::{AddressPlan, Cluster};
use tasuki_launch::{Flavour, Job, Management, Mpi};

/// Variables by which users say themselves how daemons report: the network, or the ports.
const BY_HAND: [&str; 10] = [
    "HYDRA_IFACE",
    "HYDRA_PORT_RANGE",
    "I_MPI_HYDRA_IFACE",
    "I_MPI_PORT_RANGE",
    "MPICH_PORT_RANGE",
    "MPIEXEC_PORT_RANGE",
    "OMPI_MCA_oob_tcp_dynamic_ipv4_ports",
    "OMPI_MCA_oob_tcp_if_include",
    "PRTE_MCA_prte_dynamic_ipv4_ports",
    "PRTE_MCA_prte_if_include",
];

/// How daemons of a launcher can report.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// As the launcher is told already.
    AsTold,
    /// By the cables, with what the user should know.
    ByCables(Management, String),
    /// Not at all; why, and what helps.
    Not(String),
}

/// The network that leads to the machines of a cluster file, as this machine sees it: the route to another
/// host's management address shows which interface leads there. `None`: the file has no such address.
pub(crate) fn management(cluster: &Cluster) -> Option<Management> {
    let addresses = cluster.hosts.iter().filter_map(|host| host.management.as_ref()?.address().parse().ok());
    let mut found = addresses.filter_map(|address| Management::towards(address).ok().flatten());
    found.find(|found| found.interface != "lo")
}

/// The network of identity addresses, if this machine is a host that is set up.
fn identities(cluster: &Cluster) -> Option<Management> {
    let plan = AddressPlan::new(cluster).ok()?;
    let own = plan.hosts.iter().find_map(|host| Management::with_address(host.identity).ok().flatten())?;
    // Every host has an address of its own alone.
    Some(Management { network: cluster.addressing.identity, ..own })
}

/// The addresses of this machine at which daemons may report.
pub(crate) fn own_addresses(cluster: &Cluster) -> BTreeSet<Ipv4Addr> {
    [management(cluster), identities(cluster)].into_iter().flatten().map(|own| own.address).collect()
}

/// How the daemons of a job on `hosts` of a cluster can report, by what the hosts have tried.
pub(crate) fn way_back(
    cluster: &Cluster,
    (job, mpi): (&Job, &Mpi),
    hosts: &[String],
    answers: &Answers,
) -> Report {
    let Some(told) = &job.facts.management else { return Report::AsTold };
    let is_by_hand = |name: &OsStr| BY_HAND.iter().any(|known| name == *known);
    if job.env.iter().any(|(name, _)| is_by_hand(name))
        || std::env::vars_os().any(|(name, _)| is_by_hand(&name))
    {
        return Report::AsTold;
    }
    judge(told, || identities(cluster), mpi, hosts, answers)
}

fn judge(
    told: &Management,
    identities: impl FnOnce() -> Option<Management>,
    mpi: &Mpi,
    hosts: &[String],
    answers: &Answers,
) -> Report {
    let closed = |address: Ipv4Addr| -> Vec<(&str, &str)> {
        let tried = answers.iter().filter(|(host, _)| hosts.contains(host)).filter_map(|(host, answer)| {
            let tried = answer.as_ref().ok()?.back.iter().find(|tried| tried.address == address)?;
            Some((host.as_str(), tried.problem.as_deref()?))
        });
        tried.collect()
    };
    let shut = closed(told.address);
    let Some((_, why)) = shut.first() else { return Report::AsTold };
    let names: Vec<&str> = shut.iter().map(|(host, _)| *host).collect();
    let what = format!("{}: no connection to this machine at {} ({why})", names.join(", "), told.address);
    let is_open = |address: Ipv4Addr| {
        let mut asked = answers.iter().filter(|(host, _)| hosts.contains(host));
        asked.all(|(_, answer)| {
            let mut tried = answer.iter().flat_map(|facts| &facts.back);
            tried.any(|tried| tried.address == address && tried.problem.is_none())
        })
    };
    match identities().filter(|cables| is_open(cables.address)) {
        Some(cables) => {
            let note = format!(
                "{what}, on the management network: a firewall of this machine, or no route. The launcher's \
                 daemons report over the cables"
            );
            Report::ByCables(cables, note)
        }
        None => Report::Not(format!("{what}, where the launcher's daemons report: {}", remedy(told, mpi))),
    }
}

/// What helps where a network is closed to daemons.
fn remedy(told: &Management, mpi: &Mpi) -> String {
    let network = told.network;
    let other = match mpi.flavour {
        Flavour::OpenMpi4 => "`-x OMPI_MCA_oob_tcp_if_include=NETWORK/PREFIX` names another network",
        Flavour::OpenMpi5 => "`-x PRTE_MCA_prte_if_include=NETWORK/PREFIX` names another network",
        Flavour::Intel => "`-x I_MPI_HYDRA_IFACE=NIC` names another interface of this machine",
        Flavour::Mpich => "give the hosts `management` addresses of another network in the cluster file",
    };
    format!(
        "a firewall of this machine drops TCP from there, or there is no route. Let the hosts in here (`sudo \
         ufw allow from {network}`, or `sudo firewall-cmd --permanent --zone=trusted --add-source={network}` \
         and `sudo firewall-cmd --reload`); or {other}; or start the job on a host that is set up, whose \
         daemons can take the cables"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ask::JobFacts, way_back::WayBack};
    use tasuki_fleet::HostError;
    use tasuki_launch::{Device, Version};

    const TOLD: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    const CABLES: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

    fn network(address: Ipv4Addr, prefix: u8, interface: &str) -> Management {
        let network = tasuki_cluster::Ipv4Net::around(address, prefix);
        Management { network, address, interface: interface.into() }
    }

    fn mpi(flavour: Flavour) -> Mpi {
        Mpi {
            flavour,
            version: Version::parse("5.0").unwrap(),
            library: "/opt/lib/libmpi.so".into(),
            launcher: "/opt/bin/mpirun".into(),
            device: Device { ofi: true, ucx: false },
        }
    }

    /// What the hosts n1, n2 and n3 have tried: an address is open to those of these numbers.
    fn answers(told: &[u32], cables: &[u32]) -> Answers {
        let of = |number: u32| {
            let tried = |address, open: &[u32]| WayBack {
                address,
                problem: (!open.contains(&number)).then(|| "nothing comes back".to_owned()),
            };
            let back = vec![tried(TOLD, told), tried(CABLES, cables)];
            (format!("n{number}"), Ok(JobFacts { back, ..JobFacts::local(&[], std::io::empty()) }))
        };
        (1..=3).map(of).collect()
    }

    fn report(flavour: Flavour, hosts: &[&str], answers: &Answers, is_set_up: bool) -> Report {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let identities = || is_set_up.then(|| network(CABLES, 16, "tasuki0"));
        judge(&network(TOLD, 24, "eth0"), identities, &mpi(flavour), &hosts, answers)
    }

    #[test]
    fn the_management_network_is_used_where_it_is_open_to_those_who_have_ranks() {
        let all = ["n1", "n2", "n3"];
        assert_eq!(report(Flavour::Mpich, &all, &answers(&[1, 2, 3], &[]), true), Report::AsTold);
        assert_eq!(report(Flavour::Mpich, &["n1", "n2"], &answers(&[1, 2], &[]), true), Report::AsTold);
        // A host that says nothing of it may have an older version, or not answer.
        let mut silent = answers(&[1, 2, 3], &[]);
        silent[1].1.as_mut().unwrap().back.clear();
        silent[2].1 = Err(HostError { host: "n3".into(), why: "no answer".into(), remedy: None });
        assert_eq!(report(Flavour::Mpich, &all, &silent, true), Report::AsTold);
    }

    #[test]
    fn daemons_take_the_cables_where_the_management_network_is_closed() {
        let all = ["n1", "n2", "n3"];
        let Report::ByCables(way, note) = report(Flavour::OpenMpi5, &all, &answers(&[1], &[1, 2, 3]), true)
        else {
            panic!("not by cables")
        };
        assert_eq!((way.address, way.interface.as_str()), (CABLES, "tasuki0"));
        assert_eq!(way.network.to_string(), "10.77.0.0/16");
        assert!(note.starts_with("n2, n3: no connection to this machine at 192.0.2.1 (nothing"), "{note}");
    }

    #[test]
    fn where_no_way_is_open_the_cause_and_the_launchers_option_are_named() {
        let all = ["n1", "n2", "n3"];
        for (flavour, option) in [
            (Flavour::OpenMpi4, "-x OMPI_MCA_oob_tcp_if_include="),
            (Flavour::OpenMpi5, "-x PRTE_MCA_prte_if_include="),
            (Flavour::Intel, "-x I_MPI_HYDRA_IFACE="),
            (Flavour::Mpich, "`management`"),
        ] {
            // The cables are closed to n3; or this machine is none of the hosts.
            for (answers, is_set_up) in
                [(answers(&[1, 3], &[1, 2]), true), (answers(&[1, 3], &[1, 2, 3]), false)]
            {
                let Report::Not(said) = report(flavour, &all, &answers, is_set_up) else {
                    panic!("{flavour:?}")
                };
                for part in
                    ["n2: no connection to this machine at 192.0.2.1", "firewall", "192.0.2.0/24", option]
                {
                    assert!(said.contains(part), "{part}: {said}");
                }
            }
        }
    }
}
