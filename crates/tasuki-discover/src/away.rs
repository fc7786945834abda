//! Hosts of a cluster file that is brought up to date which did not answer. Nothing is known of them, so they
//! stay as the file has them, and so do the cables between them and NICs that heard nobody.

use crate::{
    describe::Description,
    known_switches::{Domain, groups, places_of},
};
use std::collections::{BTreeMap, BTreeSet};
use tasuki_cluster::{Cluster, End, Host, HostId, NicId};

/// The numbers in the file of the hosts that stay as they are: those that did not answer, and those that
/// answered and heard nobody, if one that did not answer is at the other end of a cable or on their switch.
pub(crate) fn hosts(known: &Cluster, found: &Description) -> BTreeSet<usize> {
    let is_described = |host: &Host| found.cluster.hosts.iter().any(|other| other.name == host.name);
    let of = |is_it: &dyn Fn(&Host) -> bool| -> BTreeSet<usize> {
        let all = known.hosts.iter().enumerate();
        all.filter(|(_, host)| !is_described(host) && is_it(host)).map(|(number, _)| number).collect()
    };
    let absent = of(&|host| found.absent.iter().any(|absent| is_same(host, absent)));
    let apart = of(&|host| found.apart.contains(&host.name));
    let media = media(known);
    let joins = |medium: &&BTreeSet<NicId>, hosts: &BTreeSet<usize>| {
        medium.iter().any(|nic| hosts.contains(&nic.host.0))
    };
    let reach: BTreeSet<usize> = media
        .iter()
        .filter(|medium| joins(medium, &absent))
        .flat_map(|medium| medium.iter().map(|nic| nic.host.0))
        .collect();
    absent.iter().copied().chain(apart.intersection(&reach).copied()).collect()
}

/// Whether a host of the file is the one that was to be reached.
fn is_same(host: &Host, absent: &Host) -> bool {
    let address = |host: &Host| host.management.as_ref().map(|there| there.address().to_ascii_lowercase());
    let own = address(host).unwrap_or_else(|| host.name.to_ascii_lowercase());
    host.name.eq_ignore_ascii_case(&absent.name) || address(absent).is_some_and(|there| there == own)
}

/// All sets of NICs of a cluster that share a cable, or switches that are connected.
fn media(cluster: &Cluster) -> Vec<BTreeSet<NicId>> {
    let groups = groups(cluster);
    let mut shared: BTreeMap<usize, BTreeSet<NicId>> = BTreeMap::new();
    let mut media = Vec::new();
    for cable in &cluster.cables {
        match cable.ends {
            [End::Nic(a), End::Nic(b)] => media.push([a, b].into()),
            [End::Nic(nic), End::Port { switch, .. }] | [End::Port { switch, .. }, End::Nic(nic)] => {
                shared.entry(groups[switch.0]).or_default().insert(nic);
            }
            [End::Port { .. }, End::Port { .. }] => {}
        }
    }
    media.extend(shared.into_values());
    media
}

/// Adds the NICs of hosts that stay as they are to what was heard. `stay` has these hosts' numbers in the
/// file, `revised` all hosts of the new one.
pub(crate) fn join(domains: &mut Vec<Domain>, known: &Cluster, stay: &BTreeSet<usize>, revised: &Cluster) {
    let places = places_of(known);
    for medium in media(known).iter().filter(|medium| medium.iter().any(|nic| stay.contains(&nic.host.0))) {
        let (away, others): (Vec<NicId>, Vec<NicId>) =
            medium.iter().partition(|nic| stay.contains(&nic.host.0));
        let of = |nics: &[NicId]| nics.iter().filter_map(|nic| now(known, *nic, revised)).collect::<Vec<_>>();
        let switch =
            away.first().and_then(|nic| places.get(&known.nic_name(*nic))).map(|(switch, _)| *switch);
        let others = of(&others);
        let is_heard = |domain: &Domain| others.iter().filter(|nic| domain.nics.contains(nic)).count();
        let home = (0..domains.len()).max_by_key(|&at| (is_heard(&domains[at]), usize::MAX - at));
        let home = home.filter(|&at| is_heard(&domains[at]) > 0);
        match (home, switch) {
            (Some(home), Some(switch)) => {
                domains[home].nics.extend(of(&away));
                domains[home].switch.get_or_insert_with(|| known.switches[switch].clone());
            }
            // The cable leads elsewhere now.
            (Some(_), None) => {}
            (None, switch) => {
                let nics = of(&away).into_iter().chain(others).collect();
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
