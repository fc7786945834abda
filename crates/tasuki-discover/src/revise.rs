//! A cluster file that is there, brought up to date with what was found: what only a person can know stays.

use crate::{
    away,
    describe::Description,
    known_switches::{self, Domain},
};
use std::collections::BTreeMap;
use tasuki_cluster::{Cable, Cluster, End, Host, HostId, Nic, NicId};

/// The cluster of a file with the hosts, NICs and cables that were found. Options of the file, of its hosts
/// and of NICs that are still there stay, and so do the order of hosts and NICs, names and ports of switches,
/// the switches between NICs that still hear each other, lengths of cables, and rates that NICs do not tell.
/// Hosts that did not answer stay as the file has them.
pub fn revised(known: &Cluster, found: &Description) -> Cluster {
    let mut revised = Cluster {
        hosts: Vec::new(),
        switches: Vec::new(),
        cables: Vec::new(),
        source: None,
        ..known.clone()
    };
    let mut places = BTreeMap::new();
    let stay = away::hosts(known, found);
    let mut found_hosts: Vec<(Option<HostId>, &Host)> =
        found.cluster.hosts.iter().enumerate().map(|(number, host)| (Some(HostId(number)), host)).collect();
    found_hosts.extend(stay.iter().map(|&number| (None, &known.hosts[number])));
    let found_names = found_hosts.iter().map(|(_, host)| host.name.as_str());
    for at in order(known.hosts.iter().map(|host| host.name.as_str()), found_names) {
        let (number, host) = found_hosts[at];
        let Some(number) = number else {
            revised.hosts.push(host.clone());
            continue;
        };
        let old = known.hosts.iter().find(|old| old.name == host.name);
        let id = HostId(revised.hosts.len());
        let old_nics = old.map_or(&[][..], |old| &old.nics);
        let mut nics = Vec::new();
        for index in order(names(old_nics), names(&host.nics)) {
            let from = NicId { host: number, index };
            places.insert(from, NicId { host: id, index: nics.len() });
            let nic = &host.nics[index];
            let old = old_nics.iter().find(|old| old.name == nic.name);
            nics.push(old.map_or_else(|| nic.clone(), |old| kept(old, nic, found.assumed.contains(&from))));
        }
        revised.hosts.push(Host { nics, ..old.unwrap_or(host).clone() });
    }
    let mut domains = domains(&found.cluster, &places);
    away::join(&mut domains, known, &stay, &revised);
    known_switches::add(&mut revised, known, &domains);
    keep_lengths_and_order(&mut revised, known);
    revised
}

/// What was found between NICs, with their places in the revised cluster.
fn domains(found: &Cluster, places: &BTreeMap<NicId, NicId>) -> Vec<Domain> {
    let switches = found.switches.iter().cloned();
    let mut all: Vec<Domain> =
        switches.map(|switch| Domain { nics: Vec::new(), switch: Some(switch) }).collect();
    for cable in &found.cables {
        let nics: Vec<NicId> = cable.ends.iter().filter_map(|end| end_nic(end, places)).collect();
        let switch = cable.ends.iter().find_map(|end| match end {
            End::Port { switch, .. } => Some(switch.0),
            End::Nic(_) => None,
        });
        match switch {
            Some(switch) => all[switch].nics.extend(nics),
            None => all.push(Domain { nics, switch: None }),
        }
    }
    all
}

fn end_nic(end: &End, places: &BTreeMap<NicId, NicId>) -> Option<NicId> {
    match end {
        End::Nic(nic) => places.get(nic).copied(),
        End::Port { .. } => None,
    }
}

/// A NIC that is still there: what a person has said of it stays.
fn kept(old: &Nic, new: &Nic, rate_is_assumed: bool) -> Nic {
    Nic { mac: new.mac, rate: if rate_is_assumed { old.rate } else { new.rate }, ..old.clone() }
}

fn names(nics: &[Nic]) -> impl Iterator<Item = &str> {
    nics.iter().map(|nic| nic.name.as_str())
}

/// The numbers of the names in `new`, those first that are in `old`, in its order.
fn order<'a>(old: impl Iterator<Item = &'a str>, new: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let old: Vec<&str> = old.collect();
    let place = |name| old.iter().position(|other| *other == name).unwrap_or(old.len());
    let places: Vec<usize> = new.map(place).collect();
    let mut all: Vec<usize> = (0..places.len()).collect();
    all.sort_by_key(|&number| places[number]);
    all
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
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tasuki_cluster::{
        Rate, Switch, SwitchId,
        generate::{Options, generate},
    };

    pub fn description(cluster: Cluster) -> Description {
        let every = cluster.hosts.iter().enumerate().flat_map(|(host, all)| {
            (0..all.nics.len()).map(move |index| NicId { host: HostId(host), index })
        });
        Description {
            assumed: every.collect(),
            cluster,
            findings: Vec::new(),
            notes: Vec::new(),
            as_one: Vec::new(),
            text: String::new(),
            absent: Vec::new(),
            apart: BTreeSet::new(),
        }
    }

    pub fn cluster(shape: &str) -> Cluster {
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

    /// Two switches with two hosts each, one cable between them, and a switch without hosts on the second.
    fn cascade() -> Cluster {
        let mut cluster = Cluster::empty("cascade".into());
        let hosts = cluster_of(4).hosts;
        let switch = |name: &str, ports| Switch { name: name.into(), ports, rate: rate("1G"), agent: None };
        cluster.hosts = hosts;
        cluster.switches = vec![switch("front", 4), switch("back", 3), switch("spare", 8)];
        let port = |switch, port| End::Port { switch: SwitchId(switch), port };
        let cables = [
            [nic(0), port(0, 1)],
            [nic(1), port(0, 2)],
            [port(1, 1), port(0, 4)],
            [nic(2), port(1, 2)],
            [port(1, 3), nic(3)],
        ];
        cluster.cables = cables.into_iter().map(|ends| Cable { ends, length_m: Some(3.0) }).collect();
        cluster
    }

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    fn cluster_of(hosts: usize) -> Cluster {
        cluster(&format!("star:{hosts}"))
    }

    fn nic(host: usize) -> End {
        End::Nic(NicId { host: HostId(host), index: 0 })
    }

    /// What is heard where these hosts hear each other: two a cable, more a switch.
    fn heard(domains: &[&[usize]]) -> Cluster {
        let hosts = domains.iter().flat_map(|hosts| hosts.iter()).max().unwrap() + 1;
        let mut found = Cluster { switches: Vec::new(), cables: Vec::new(), ..cluster_of(hosts) };
        for hosts in domains {
            add_heard(&mut found, &hosts.iter().map(|host| nic(*host)).collect::<Vec<_>>());
        }
        found
    }

    /// Adds NICs that hear each other, as they are described: two are a cable, more of them a switch.
    pub fn add_heard(cluster: &mut Cluster, nics: &[End]) {
        match *nics {
            [] | [_] => {}
            [a, b] => cluster.cables.push(Cable { ends: [a, b], length_m: None }),
            _ => {
                let switch = SwitchId(cluster.switches.len());
                let (name, ports) = (format!("heard{}", switch.0), nics.len() as u32);
                cluster.switches.push(Switch { name, ports, rate: rate("1G"), agent: None });
                let ends = nics.iter().zip(1..).map(|(nic, port)| [*nic, End::Port { switch, port }]);
                cluster.cables.extend(ends.map(|ends| Cable { ends, length_m: None }));
            }
        }
    }

    /// A frame passes two switches as it passes one.
    #[test]
    fn connected_switches_stay_where_one_was_heard() {
        let mut known = cascade();
        assert_eq!(known.hosts.len(), 4);
        let after = |known: &Cluster, domains: &[&[usize]]| revised(known, &description(heard(domains)));
        let names = |cluster: &Cluster| -> Vec<[String; 2]> {
            cluster.cables.iter().map(|cable| cable.ends.map(|end| cluster.end_name(end))).collect()
        };
        let switches = |cluster: &Cluster| -> Vec<String> {
            cluster.switches.iter().map(|switch| switch.name.clone()).collect()
        };
        // The spare one is cabled to nothing.
        known.switches.pop();
        assert_eq!(after(&known, &[&[3, 1, 0, 2]]).to_toml(), known.to_toml());
        let mut chain = cascade();
        let port = |switch, port| End::Port { switch: SwitchId(switch), port };
        chain.cables[2].ends = [port(2, 7), port(0, 4)];
        chain.cables.push(Cable { ends: [port(2, 8), port(1, 1)], length_m: None });
        assert_eq!(after(&chain, &[&[0, 1, 2, 3]]).to_toml(), chain.to_toml(), "one without hosts between");
        // A new host is on a port that is free.
        let more = after(&known, &[&[0, 1, 2, 3, 4]]);
        assert_eq!(more.switches, known.switches);
        assert_eq!(names(&more)[..5], names(&known));
        assert_eq!(names(&more)[5..], [["n5:eth1", "front:3"]]);
        // Those that do not hear each other any more are not connected.
        let mut wide = cluster_of(6);
        wide.switches = cascade().switches;
        wide.switches.pop();
        let places = [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)];
        for (cable, (switch, at)) in wide.cables.iter_mut().zip(places) {
            cable.ends[1] = port(switch, at);
        }
        wide.switches[1].ports = 4;
        wide.cables.push(Cable { ends: [port(0, 4), port(1, 4)], length_m: None });
        assert_eq!(after(&wide, &[&[0, 1, 2, 3, 4, 5]]).to_toml(), wide.to_toml());
        let apart = after(&wide, &[&[3, 4, 5], &[0, 1, 2]]);
        assert_eq!((switches(&apart), apart.cables.len()), (switches(&wide), 6));
        assert_eq!(names(&apart), names(&wide)[..6]);
    }

    /// Nothing tells a quiet switch with two hosts from a cable, but other hosts that should be heard do.
    #[test]
    fn a_quiet_switch_stays_and_one_that_cables_replaced_goes() {
        let known = cluster_of(2);
        assert_eq!(revised(&known, &description(heard(&[&[0, 1]]))).to_toml(), known.to_toml());
        let cabled = revised(&cluster_of(4), &description(heard(&[&[0, 1], &[2, 3]])));
        assert_eq!((cabled.switches.len(), cabled.cables.len()), (0, 2));
    }
}
