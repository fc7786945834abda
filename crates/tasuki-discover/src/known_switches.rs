//! The switches of a cluster file that is brought up to date. What is heard tells which NICs share a switch,
//! but neither how many switches there are on the way, nor whether two NICs are joined by a cable or by a
//! switch: where the file agrees with what was heard, its switches and the cables between them stay.

use std::collections::{BTreeMap, BTreeSet};
use tasuki_cluster::{Cable, Cluster, End, NicId, Switch, SwitchId};

/// NICs that hear each other.
pub(crate) struct Domain {
    /// The NICs.
    pub nics: Vec<NicId>,
    /// The switch that was found between them; `None`: they may as well be the ends of a cable.
    pub switch: Option<Switch>,
}

/// A switch of the revised cluster.
struct Kept {
    /// Its number in the file; `None`: it is not there.
    old: Option<usize>,
    /// The domain that it belongs to.
    domain: usize,
    switch: Switch,
    taken: BTreeSet<u32>,
}

/// Adds the switches and cables of all domains to a cluster that has the hosts.
pub(crate) fn add(revised: &mut Cluster, known: &Cluster, domains: &[Domain]) {
    let places = places_of(known);
    let names = |nics: &[NicId]| nics.iter().map(|nic| revised.nic_name(*nic)).collect::<Vec<String>>();
    let names: Vec<Vec<String>> = domains.iter().map(|domain| names(&domain.nics)).collect();
    let groups = groups(known);
    let is_switched =
        |at: usize| domains[at].switch.is_some() || may_be_switched(at, &names, &places, &groups);
    let is_switched: Vec<bool> = (0..domains.len()).map(is_switched).collect();
    let mut kept: Vec<Kept> = Vec::new();
    let homes = homes(known, &names, &is_switched, &places);
    for domain in (0..domains.len()).filter(|&domain| is_switched[domain]) {
        let there = switches_of(domain, known, &homes, &kept);
        let old = there.into_iter().map(|old| (Some(old), known.switches[old].clone()));
        let mut all: Vec<_> = old.collect();
        if let (true, Some(switch)) = (all.is_empty(), &domains[domain].switch) {
            all.push((None, switch.clone()));
        }
        let all = all.into_iter();
        kept.extend(all.map(|(old, switch)| Kept { old, domain, switch, taken: BTreeSet::new() }));
    }
    // The root of each domain comes first, for NICs that no switch has room for.
    let roots: BTreeMap<usize, Option<usize>> =
        kept.iter().rev().map(|switch| (switch.domain, switch.old)).collect();
    kept.sort_by_key(|switch| (switch.old.unwrap_or(usize::MAX), switch.domain));
    let between = cables_between(known, &mut kept);
    for (number, domain) in domains.iter().enumerate() {
        if let (false, [a, b]) = (is_switched[number], &domain.nics[..]) {
            revised.cables.push(Cable { ends: [End::Nic(*a), End::Nic(*b)], length_m: None });
        } else {
            let root = roots.get(&number).copied().flatten();
            plug_in(revised, number, domain, &names[number], &places, root, &mut kept);
        }
    }
    revised.cables.extend(between);
    for switch in kept {
        let ports = switch.switch.ports.max(switch.taken.last().copied().unwrap_or(0));
        let name = free_name(revised, known, switch.old, switch.switch.name.clone());
        revised.switches.push(Switch { name, ports, ..switch.switch });
    }
}

/// The switch and port of each NIC, by the NIC's name.
fn places_of(cluster: &Cluster) -> BTreeMap<String, (usize, u32)> {
    let place = |cable: &Cable| match cable.ends {
        [End::Nic(nic), End::Port { switch, port }] | [End::Port { switch, port }, End::Nic(nic)] => {
            Some((cluster.nic_name(nic), (switch.0, port)))
        }
        _ => None,
    };
    cluster.cables.iter().filter_map(place).collect()
}

/// The two switches of each cable between switches.
fn joined(cluster: &Cluster) -> impl Iterator<Item = [usize; 2]> {
    cluster.cables.iter().filter_map(|cable| match cable.ends {
        [End::Port { switch: a, .. }, End::Port { switch: b, .. }] => Some([a.0, b.0]),
        _ => None,
    })
}

/// Of each switch: a number that it shares with those that are connected to it.
pub(crate) fn groups(cluster: &Cluster) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..cluster.switches.len()).collect();
    for [a, b] in joined(cluster) {
        let (from, to) = (groups[a], groups[b]);
        groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
    }
    groups
}

/// Whether the file has two NICs, between which no switch was heard, on switches that are connected, and all
/// other NICs of these are silent.
fn may_be_switched(
    at: usize,
    names: &[Vec<String>],
    places: &BTreeMap<String, (usize, u32)>,
    groups: &[usize],
) -> bool {
    let group = |name: &String| places.get(name).map(|(switch, _)| groups[*switch]);
    let mut own = names[at].iter().map(group);
    let Some(Some(first)) = own.next() else { return false };
    let elsewhere = names.iter().enumerate().filter(|(other, _)| *other != at).flat_map(|(_, names)| names);
    own.all(|group| group == Some(first)) && !elsewhere.map(group).any(|group| group == Some(first))
}

/// Of each switch of the file: the domain that has most of its NICs, and their number.
fn homes(
    known: &Cluster,
    names: &[Vec<String>],
    is_switched: &[bool],
    places: &BTreeMap<String, (usize, u32)>,
) -> Vec<Option<(usize, usize)>> {
    let mut shared = vec![vec![0; names.len()]; known.switches.len()];
    for (domain, names) in names.iter().enumerate().filter(|(domain, _)| is_switched[*domain]) {
        for (switch, _) in names.iter().filter_map(|name| places.get(name)) {
            shared[*switch][domain] += 1;
        }
    }
    let most = |counts: Vec<usize>| {
        let counts = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        counts.max_by_key(|&(domain, count)| (count, usize::MAX - domain))
    };
    shared.into_iter().map(most).collect()
}

/// The switches of the file that make up a domain, the one with most of its NICs first: it and those to which
/// cables lead from it, without any on which another domain is.
fn switches_of(
    domain: usize,
    known: &Cluster,
    homes: &[Option<(usize, usize)>],
    kept: &[Kept],
) -> Vec<usize> {
    let own = homes.iter().enumerate();
    let own = own.filter_map(|(old, home)| home.filter(|home| home.0 == domain).map(|home| (old, home.1)));
    let Some((root, _)) = own.max_by_key(|&(old, count)| (count, usize::MAX - old)) else {
        return Vec::new();
    };
    let mut all = vec![root];
    let mut at = 0;
    while let Some(&here) = all.get(at) {
        at += 1;
        for [a, b] in joined(known).filter(|pair| pair.contains(&here)) {
            let other = if a == here { b } else { a };
            let is_free = homes[other].is_none_or(|home| home.0 == domain)
                && !kept.iter().any(|switch| switch.old == Some(other));
            if is_free && !all.contains(&other) {
                all.push(other);
            }
        }
    }
    all
}

/// The cables of the file between switches of one domain, with the switches' new numbers.
fn cables_between(known: &Cluster, kept: &mut [Kept]) -> Vec<Cable> {
    let mut cables = Vec::new();
    for cable in &known.cables {
        let ends = cable.ends.map(|end| match end {
            End::Port { switch, port } => {
                let at = kept.iter().position(|kept| kept.old == Some(switch.0));
                at.map(|at| (at, port))
            }
            End::Nic(_) => None,
        });
        let [Some(a), Some(b)] = ends else { continue };
        if kept[a.0].domain == kept[b.0].domain {
            let ends = [a, b].map(|(at, port)| {
                kept[at].taken.insert(port);
                End::Port { switch: SwitchId(at), port }
            });
            cables.push(Cable { ends, length_m: None });
        }
    }
    cables
}

/// Plugs the NICs of a domain into its switches: where they were, or else where a port is free.
fn plug_in(
    revised: &mut Cluster,
    number: usize,
    domain: &Domain,
    names: &[String],
    places: &BTreeMap<String, (usize, u32)>,
    root: Option<usize>,
    kept: &mut [Kept],
) {
    let place = |name: &String, kept: &[Kept]| {
        let (old, port) = *places.get(name)?;
        let is_it = |switch: &Kept| switch.old == Some(old) && switch.domain == number;
        Some((kept.iter().position(is_it)?, port))
    };
    let there: Vec<Option<(usize, u32)>> = names.iter().map(|name| place(name, kept)).collect();
    for &(at, port) in there.iter().flatten() {
        kept[at].taken.insert(port);
    }
    for (nic, there) in domain.nics.iter().zip(there) {
        let own = || (0..kept.len()).filter(|&at| kept[at].domain == number);
        let free = |at: usize| (1..).find(|port| !kept[at].taken.contains(port)).unwrap_or(1);
        let has_room = |at: &usize| free(*at) <= kept[*at].switch.ports;
        let is_root = |at: &usize| kept[*at].old == root;
        let at = own().find(has_room).or_else(|| own().find(is_root));
        let Some((at, port)) = there.or_else(|| at.map(|at| (at, free(at)))) else { continue };
        kept[at].taken.insert(port);
        let ends = [End::Nic(*nic), End::Port { switch: SwitchId(at), port }];
        revised.cables.push(Cable { ends, length_m: None });
    }
}

/// The name of a switch, or `sw` and a number if another one has it.
fn free_name(revised: &Cluster, known: &Cluster, old: Option<usize>, name: String) -> String {
    let is_other = |name: &str| {
        revised.switches.iter().any(|switch| switch.name == name)
            || revised.hosts.iter().any(|host| host.name == name)
            || known.switches.iter().enumerate().any(|(at, switch)| Some(at) != old && switch.name == name)
    };
    let numbered = (1..).map(|number| format!("sw{number}"));
    [name].into_iter().chain(numbered).find(|name| !is_other(name)).unwrap_or_default()
}
