//! Random clusters, and an oracle that does not use the crate's own graphs: it floods frames over cables.
//!
//! When a case fails, proptest prints the smallest failing input and keeps its seed beside the test, in
//! `*.proptest-regressions`, from where every later run replays it first; `PROPTEST_CASES=10000` runs more
//! cases.
#![allow(dead_code, reason = "each test binary uses a part")]

use proptest::prelude::*;
use std::collections::{BTreeSet, VecDeque};
use tasuki_cluster::{
    Addressing, Cable, Cluster, End, Host, HostId, Nic, NicId, Rate, SshOptions, Switch, SwitchId,
};

/// What a random cluster is made from. Numbers below the number of hosts are hosts, the others switches.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub relay: Vec<bool>,
    pub switches: usize,
    pub cables: Vec<(usize, usize, u8)>,
}

const RATES: [&str; 4] = ["100M", "1G", "2.5G", "10G"];

/// Recipes of up to nine hosts and four switches.
pub fn recipe() -> impl Strategy<Value = Recipe> {
    (2..=9_usize, 0..=4_usize).prop_flat_map(|(hosts, switches)| {
        let places = hosts + switches;
        let relay = prop::collection::vec(prop::bool::weighted(0.8), hosts);
        let cables = prop::collection::vec((0..places, 0..places, any::<u8>()), 1..24);
        (relay, cables).prop_map(move |(relay, cables)| Recipe { relay, switches, cables })
    })
}

/// Recipes whose hosts all reach each other: if they do not, all hosts relay and a chain of cables is added.
pub fn connected_recipe() -> impl Strategy<Value = Recipe> {
    recipe().prop_map(|mut recipe| {
        if !is_connected(&recipe.cluster()) {
            recipe.relay.fill(true);
            recipe.cables.extend((1..recipe.relay.len()).map(|host| (host - 1, host, host as u8)));
        }
        recipe
    })
}

impl Recipe {
    /// Makes the cluster. Cables from a host to itself and those that would close a loop of switches are left
    /// out.
    pub fn cluster(&self) -> Cluster {
        let rate = |dice: u8| RATES[usize::from(dice) % RATES.len()].parse::<Rate>().unwrap();
        let host = |(index, relay): (usize, &bool)| Host {
            name: format!("n{}", index + 1),
            management: None,
            ssh: SshOptions::default(),
            cores: None,
            rack: None,
            module: None,
            relay: *relay,
            delay: None,
            nics: Vec::new(),
        };
        let switch = |index: usize| Switch {
            name: format!("sw{}", index + 1),
            ports: 0,
            rate: rate(index as u8),
            agent: None,
        };
        let mut cluster = Cluster {
            name: "random".into(),
            source: None,
            addressing: Addressing::default(),
            fallback: true,
            authenticate: self.relay.len() % 2 == 1,
            striping: None,
            tune: None,
            queue: tasuki_cluster::QueueRules::default(),
            ssh: SshOptions::default(),
            hosts: self.relay.iter().enumerate().map(host).collect(),
            switches: (0..self.switches).map(switch).collect(),
            cables: Vec::new(),
        };
        let hosts = self.relay.len();
        // Colours of switches: joining two of one colour would close a loop.
        let mut colour: Vec<usize> = (0..self.switches).collect();
        for &(a, b, dice) in &self.cables {
            if a == b {
                continue;
            }
            if a >= hosts && b >= hosts {
                let (old, new) = (colour[a - hosts], colour[b - hosts]);
                if old == new {
                    continue;
                }
                colour.iter_mut().filter(|colour| **colour == old).for_each(|colour| *colour = new);
            }
            let ends = [a, b].map(|place| {
                if let Some(switch) = place.checked_sub(hosts) {
                    cluster.switches[switch].ports += 1;
                    return End::Port { switch: SwitchId(switch), port: cluster.switches[switch].ports };
                }
                let nics = &mut cluster.hosts[place].nics;
                nics.push(Nic {
                    name: format!("eth{}", nics.len() + 1),
                    mac: None,
                    rate: rate(dice),
                    mtu: 1500,
                    ip: true,
                    delay: None,
                });
                End::Nic(NicId { host: HostId(place), index: nics.len() - 1 })
            });
            cluster.cables.push(Cable { ends, length_m: None });
        }
        // A switch has a port even if it has no cable.
        cluster.switches.iter_mut().for_each(|switch| switch.ports += 1);
        cluster
    }
}

/// All NICs that a broadcast frame from `nic` reaches, by flooding, without `nic` itself.
pub fn flood(cluster: &Cluster, nic: NicId) -> BTreeSet<NicId> {
    let mut frames = VecDeque::from([End::Nic(nic)]);
    let mut sent = BTreeSet::new();
    let mut received = BTreeSet::new();
    while let Some(from) = frames.pop_front() {
        if !sent.insert(from) {
            continue;
        }
        for cable in &cluster.cables {
            let [a, b] = cable.ends;
            let to = match from {
                _ if from == a => b,
                _ if from == b => a,
                _ => continue,
            };
            match to {
                End::Nic(nic) => {
                    received.insert(nic);
                }
                End::Port { switch, .. } => {
                    let ports = 1..=cluster.switches[switch.0].ports;
                    frames.extend(ports.map(|port| End::Port { switch, port }).filter(|port| *port != to));
                }
            }
        }
    }
    received
}

/// Hosts that share a cable or switch domain with `host`.
pub fn neighbours(cluster: &Cluster, host: usize) -> BTreeSet<usize> {
    let nics = (0..cluster.hosts[host].nics.len()).map(|index| NicId { host: HostId(host), index });
    let hosts = nics.flat_map(|nic| flood(cluster, nic)).map(|nic| nic.host.0);
    hosts.filter(|&other| other != host).collect()
}

/// Number of hops from `from` to every host, breadth first; only `from` and relaying hosts forward packets.
pub fn hops(cluster: &Cluster, from: usize) -> Vec<Option<usize>> {
    let mut hops = vec![None; cluster.hosts.len()];
    hops[from] = Some(0);
    let mut queue = VecDeque::from([from]);
    while let Some(here) = queue.pop_front() {
        if here != from && !cluster.hosts[here].relay {
            continue;
        }
        for next in neighbours(cluster, here) {
            if hops[next].is_none() {
                hops[next] = hops[here].map(|hops| hops + 1);
                queue.push_back(next);
            }
        }
    }
    hops
}

/// Whether every host reaches every other.
pub fn is_connected(cluster: &Cluster) -> bool {
    (0..cluster.hosts.len()).all(|host| hops(cluster, host).iter().all(Option::is_some))
}
