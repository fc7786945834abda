//! A cluster file that is there, brought up to date with what was found: what only a person can know stays.

use crate::describe::Description;
use std::collections::{BTreeMap, BTreeSet};
use tasuki_cluster::{Cable, Cluster, End, Host, HostId, Nic, NicId, Switch, SwitchId};

/// The cluster of a file with the hosts, NICs and cables that were found. Options of the file, of its hosts
/// and of NICs that are still there stay, and so do the order of hosts and NICs, names and ports of switches,
/// lengths of cables, and rates that NICs do not tell.
pub fn revised(known: &Cluster, found: &Description) -> Cluster {
    let mut revised = Cluster {
        hosts: Vec::new(),
        switches: Vec::new(),
        cables: Vec::new(),
        source: None,
        ..known.clone()
    };
    let mut places = BTreeMap::new();
    let found_hosts = &found.cluster.hosts;
    for number in order(&known.hosts, found_hosts, |host| &host.name) {
        let host = &found_hosts[number];
        let old = known.hosts.iter().find(|old| old.name == host.name);
        let id = HostId(revised.hosts.len());
        let old_nics = old.map_or(&[][..], |old| &old.nics);
        let mut nics = Vec::new();
        for index in order(old_nics, &host.nics, |nic| &nic.name) {
            let from = NicId { host: HostId(number), index };
            places.insert(from, NicId { host: id, index: nics.len() });
            let nic = &host.nics[index];
            let old = old_nics.iter().find(|old| old.name == nic.name);
            nics.push(old.map_or_else(|| nic.clone(), |old| kept(old, nic, found.assumed.contains(&from))));
        }
        revised.hosts.push(Host { nics, ..old.unwrap_or(host).clone() });
    }
    let ends: Vec<[End; 2]> = found.cluster.cables.iter().map(|cable| cable.ends).collect();
    let nic = |end: &End| match end {
        End::Nic(nic) => places.get(nic).copied(),
        End::Port { .. } => None,
    };
    add_switches(&mut revised, known, &found.cluster, &ends, &nic);
    for pair in &ends {
        if let [Some(a), Some(b)] = [nic(&pair[0]), nic(&pair[1])] {
            revised.cables.push(Cable { ends: [End::Nic(a), End::Nic(b)], length_m: None });
        }
    }
    keep_lengths_and_order(&mut revised, known);
    revised
}

/// A NIC that is still there: what a person has said of it stays.
fn kept(old: &Nic, new: &Nic, rate_is_assumed: bool) -> Nic {
    Nic { mac: new.mac, rate: if rate_is_assumed { old.rate } else { new.rate }, ..old.clone() }
}

/// The numbers of `new`, those first that are in `old`, in its order.
fn order<T>(old: &[T], new: &[T], name: impl Fn(&T) -> &str) -> Vec<usize> {
    let at = |item: &T| old.iter().position(|other| name(other) == name(item)).unwrap_or(old.len());
    let mut all: Vec<usize> = (0..new.len()).collect();
    all.sort_by_key(|&number| at(&new[number]));
    all
}

/// Adds the switches that were found, each as the known one that shares most NICs with it.
fn add_switches(
    revised: &mut Cluster,
    known: &Cluster,
    found: &Cluster,
    ends: &[[End; 2]],
    nic: &dyn Fn(&End) -> Option<NicId>,
) {
    let mut used = BTreeSet::new();
    for (number, switch) in found.switches.iter().enumerate() {
        let on_it = |pair: &&[End; 2]| {
            pair.iter().any(|end| matches!(end, End::Port { switch, .. } if switch.0 == number))
        };
        let nics: Vec<NicId> = ends.iter().filter(on_it).flatten().filter_map(nic).collect();
        let ports = |old: usize| -> BTreeMap<String, u32> { ports_of(known, old) };
        let names: Vec<String> = nics.iter().map(|nic| revised.nic_name(*nic)).collect();
        let shared = |old: usize| names.iter().filter(|name| ports(old).contains_key(*name)).count();
        let free = (0..known.switches.len()).filter(|old| !used.contains(old));
        let old = free.filter(|&old| shared(old) > 0).max_by_key(|&old| (shared(old), usize::MAX - old));
        let old_ports = old.map(ports).unwrap_or_default();
        let id = SwitchId(revised.switches.len());
        let mut taken: BTreeSet<u32> = names.iter().filter_map(|name| old_ports.get(name).copied()).collect();
        for (nic, name) in nics.iter().zip(&names) {
            let port = old_ports.get(name).copied().unwrap_or_else(|| {
                let port = (1..).find(|port| !taken.contains(port)).unwrap_or(1);
                taken.insert(port);
                port
            });
            let ends = [End::Nic(*nic), End::Port { switch: id, port }];
            revised.cables.push(Cable { ends, length_m: None });
        }
        let needed = taken.last().copied().unwrap_or(switch.ports);
        let base = old.map_or_else(|| switch.clone(), |old| known.switches[old].clone());
        let name = free_name(revised, known, old, base.name.clone());
        revised.switches.push(Switch { name, ports: base.ports.max(needed), ..base });
        used.extend(old);
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

/// The NICs on a switch, by name, with their ports.
fn ports_of(cluster: &Cluster, number: usize) -> BTreeMap<String, u32> {
    let port = |cable: &Cable| match cable.ends {
        [End::Nic(nic), End::Port { switch, port }] | [End::Port { switch, port }, End::Nic(nic)]
            if switch.0 == number =>
        {
            Some((cluster.nic_name(nic), port))
        }
        _ => None,
    };
    cluster.cables.iter().filter_map(port).collect()
}

/// Cables that were known keep their length, the order of their ends, and their order.
fn keep_lengths_and_order(revised: &mut Cluster, known: &Cluster) {
    let names = |cluster: &Cluster, cable: &Cable| cable.ends.map(|end| cluster.end_name(end));
    let old: Vec<[String; 2]> = known.cables.iter().map(|cable| names(known, cable)).collect();
    let mut all: Vec<(usize, Cable)> = Vec::new();
    for cable in &revised.cables {
        let [a, b] = names(revised, cable);
        let at = old.iter().position(|[c, d]| (&a, &b) == (c, d) || (&a, &b) == (d, c));
        let mut cable = cable.clone();
        if let Some(at) = at {
            cable.length_m = known.cables[at].length_m;
            if a != old[at][0] {
                cable.ends.reverse();
            }
        }
        all.push((at.unwrap_or(old.len()), cable));
    }
    all.sort_by_key(|(at, _)| *at);
    revised.cables = all.into_iter().map(|(_, cable)| cable).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::generate::{Options, generate};

    fn description(cluster: Cluster) -> Description {
        let every = cluster.hosts.iter().enumerate().flat_map(|(host, all)| {
            (0..all.nics.len()).map(move |index| NicId { host: HostId(host), index })
        });
        let assumed = every.collect();
        Description { cluster, findings: Vec::new(), notes: Vec::new(), text: String::new(), assumed }
    }

    fn cluster(shape: &str) -> Cluster {
        generate(&shape.parse().unwrap(), &Options::default()).unwrap()
    }

    #[test]
    fn what_a_person_has_written_stays_and_the_same_cables_change_nothing() {
        for shape in ["mixed:6/3", "planes:4x2", "full:4"] {
            let mut known = cluster(shape);
            known.hosts[1].cores = Some(6);
            known.hosts[1].nics[0].mtu = 9000;
            known.cables[0].length_m = Some(2.5);
            // Hosts are named in another order, and nothing is known of the rest.
            let mut found = cluster(shape);
            found.name = "discovered".into();
            found.hosts.iter_mut().flat_map(|host| &mut host.nics).for_each(|nic| nic.mtu = 1500);
            let last = found.hosts.len() - 1;
            found.hosts.swap(0, last);
            for end in found.cables.iter_mut().flat_map(|cable| &mut cable.ends) {
                if let End::Nic(nic) = end {
                    nic.host.0 = if nic.host.0 == 0 {
                        last
                    } else if nic.host.0 == last {
                        0
                    } else {
                        nic.host.0
                    };
                }
            }
            found.switches.iter_mut().for_each(|switch| switch.name = "other".to_owned() + &switch.name);
            assert_eq!(revised(&known, &description(found)).to_toml(), known.to_toml(), "{shape}");
        }
    }

    #[test]
    fn cables_that_were_moved_are_where_they_were_found() {
        let known = cluster("ring:4");
        let mut found = known.clone();
        let far = found.cables[0].ends[1];
        found.cables[0].ends[1] = found.cables[2].ends[1];
        found.cables[2].ends[1] = far;
        let cables = |cluster: &Cluster| -> BTreeSet<BTreeSet<String>> {
            let names = |cable: &Cable| cable.ends.iter().map(|end| cluster.end_name(*end)).collect();
            cluster.cables.iter().map(names).collect()
        };
        let revised = revised(&known, &description(found.clone()));
        assert_eq!(cables(&revised), cables(&found));
        assert_ne!(cables(&revised), cables(&known));
    }
}
