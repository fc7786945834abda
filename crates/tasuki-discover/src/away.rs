//! Hosts of a cluster file that is brought up to date which did not answer. Nothing is known of them, so they
//! stay as the file has them, and so do the cables between them and NICs that heard nobody.

use crate::{
    describe::Description,
    known_switches::{Domain, groups},
};
use std::collections::{BTreeMap, BTreeSet};
use tasuki_cluster::{Cluster, End, Host, HostId, NicId};

/// The numbers in the file of the hosts that stay as they are: those that did not answer, and those that
/// answered and heard nobody, if one that did not answer is at the other end of a cable or on their switch.
pub(crate) fn hosts(known: &Cluster, found: &Description) -> BTreeSet<usize> {
    let is_described =
        |number: usize| found.cluster.hosts.iter().any(|other| other.name == known.hosts[number].name);
    let of = |is_it: &dyn Fn(usize) -> bool| -> BTreeSet<usize> {
        (0..known.hosts.len()).filter(|&number| !is_described(number) && is_it(number)).collect()
    };
    let absent = of(&|number| found.absent.iter().any(|absent| is_same(known, number, absent)));
    let apart = of(&|number| found.apart.contains(&known.hosts[number].name));
    let media = media(known);
    let beside = media.iter().filter(|medium| has_one_of(medium, &absent));
    let beside: BTreeSet<usize> = beside.flat_map(|medium| medium.keys().map(|nic| nic.host.0)).collect();
    absent.iter().copied().chain(apart.intersection(&beside).copied()).collect()
}

/// Whether a host of the file is the one that was to be reached.
fn is_same(known: &Cluster, number: usize, absent: &Host) -> bool {
    let reached = known.ssh_target(HostId(number)).address;
    let typed = absent.management.as_ref();
    known.hosts[number].name.eq_ignore_ascii_case(&absent.name)
        || typed.is_some_and(|typed| typed.address().eq_ignore_ascii_case(reached))
}

/// NICs that share a cable, or switches that are connected, each with its switch.
type Medium = BTreeMap<NicId, Option<usize>>;

fn media(cluster: &Cluster) -> Vec<Medium> {
    let groups = groups(cluster);
    let mut shared: BTreeMap<usize, Medium> = BTreeMap::new();
    let mut media = Vec::new();
    for cable in &cluster.cables {
        match cable.ends {
            [End::Nic(a), End::Nic(b)] => media.push([(a, None), (b, None)].into()),
            [End::Nic(nic), End::Port { switch, .. }] | [End::Port { switch, .. }, End::Nic(nic)] => {
                shared.entry(groups[switch.0]).or_default().insert(nic, Some(switch.0));
            }
            [End::Port { .. }, End::Port { .. }] => {}
        }
    }
    media.extend(shared.into_values());
    media
}

fn has_one_of(medium: &Medium, hosts: &BTreeSet<usize>) -> bool {
    medium.keys().any(|nic| hosts.contains(&nic.host.0))
}

/// Adds the NICs of hosts that stay as they are to what was heard. `stay` has these hosts' numbers in the
/// file, `revised` all hosts of the new one.
pub(crate) fn join(domains: &mut Vec<Domain>, known: &Cluster, stay: &BTreeSet<usize>, revised: &Cluster) {
    for medium in media(known).iter().filter(|medium| has_one_of(medium, stay)) {
        let of = |stays: bool| {
            let nics = medium.keys().filter(move |nic| stay.contains(&nic.host.0) == stays);
            nics.filter_map(|nic| now(known, *nic, revised)).collect::<Vec<NicId>>()
        };
        let (away, others) = (of(true), of(false));
        let switch =
            medium.iter().find(|(nic, _)| stay.contains(&nic.host.0)).and_then(|(_, switch)| *switch);
        let is_heard = |domain: &Domain| others.iter().filter(|nic| domain.nics.contains(nic)).count();
        let home = (0..domains.len()).max_by_key(|&at| (is_heard(&domains[at]), usize::MAX - at));
        let home = home.filter(|&at| is_heard(&domains[at]) > 0);
        match (home, switch) {
            (Some(home), Some(switch)) => {
                domains[home].nics.extend(away);
                domains[home].switch.get_or_insert_with(|| known.switches[switch].clone());
            }
            // The cable leads elsewhere now.
            (Some(_), None) => {}
            (None, switch) => {
                let nics = away.into_iter().chain(others).collect();
                domains.push(Domain { nics, switch: switch.map(|switch| known.switches[switch].clone()) });
            }
        }
    }
}

/// Where a NIC of the file is in the new one, if it is there.
fn now(known: &Cluster, nic: NicId, revised: &Cluster) -> Option<NicId> {
    let (host, name) = (known.host_of(nic.host), &known.nic_of(nic).name);
    let number = revised.hosts.iter().position(|other| other.name == host.name)?;
    let index = revised.hosts[number].nics.iter().position(|other| other.name == *name)?;
    Some(NicId { host: HostId(number), index })
}

#[cfg(test)]
mod tests;
