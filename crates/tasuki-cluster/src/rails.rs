//! Rails: the routes between two hosts.

use crate::{CableId, Cluster, HostId, NicId, Rate, SwitchId, fabric::Fabric};
use serde::Serialize;

/// A rail between two hosts: a pair of NICs that reach each other over one cable or one switch domain, or, if
/// there is none, a path through relaying hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rail {
    /// NIC of the first host and NIC of the second.
    pub nics: [NicId; 2],
    /// Rate of the slowest NIC or switch on the path.
    pub rate: Rate,
    /// Largest packet that passes the whole path unfragmented, in bytes.
    pub mtu: u32,
    /// Hosts that relay, in the order of the path. Empty: a direct rail.
    pub relays: Vec<HostId>,
    /// Cables, in the order of the path.
    pub cables: Vec<CableId>,
    /// Switches, in the order of the path.
    pub switches: Vec<SwitchId>,
}

/// A rail in names instead of ids, for tables and JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RailNames {
    /// The two NICs, as `n1:eth1`.
    pub nics: [String; 2],
    /// Rate of the slowest NIC or switch on the path.
    pub rate: Rate,
    /// Largest packet that passes the whole path unfragmented, in bytes.
    pub mtu: u32,
    /// Whether no host relays.
    pub direct: bool,
    /// Hosts that relay.
    pub relays: Vec<String>,
    /// Both ends of each cable.
    pub cables: Vec<[String; 2]>,
    /// Switches.
    pub switches: Vec<String>,
}

impl Rail {
    /// Whether the two NICs reach each other without a relaying host.
    pub fn is_direct(&self) -> bool {
        self.relays.is_empty()
    }

    /// The rail in names.
    pub fn names(&self, cluster: &Cluster) -> RailNames {
        let ends = |&cable: &CableId| cluster.cable_of(cable).ends.map(|end| cluster.end_name(end));
        RailNames {
            nics: self.nics.map(|nic| cluster.nic_name(nic)),
            rate: self.rate,
            mtu: self.mtu,
            direct: self.is_direct(),
            relays: self.relays.iter().map(|&host| cluster.host_of(host).name.clone()).collect(),
            cables: self.cables.iter().map(ends).collect(),
            switches: self.switches.iter().map(|&switch| cluster.switch_of(switch).name.clone()).collect(),
        }
    }

    /// Joins two rails; `self` ends at the host at which `next` begins.
    fn then(mut self, next: Rail) -> Rail {
        self.relays.push(self.nics[1].host);
        self.relays.extend(next.relays);
        self.cables.extend(next.cables);
        self.switches.extend(next.switches);
        Rail {
            nics: [self.nics[0], next.nics[1]],
            rate: self.rate.min(next.rate),
            mtu: self.mtu.min(next.mtu),
            ..self
        }
    }
}

impl Fabric<'_> {
    /// The direct rails of two hosts, which are the same from both sides.
    pub(crate) fn direct_rails(&self, a: HostId, b: HostId) -> Vec<Rail> {
        self.pairs(a, b).into_iter().map(|nics| self.rail(nics)).collect()
    }

    fn rail(&self, nics: [NicId; 2]) -> Rail {
        let path = self.path(nics);
        let [a, b] = nics.map(|nic| self.cluster.nic_of(nic).mtu);
        Rail {
            nics,
            rate: path.rate,
            mtu: a.min(b),
            relays: Vec::new(),
            cables: path.cables,
            switches: path.switches,
        }
    }

    /// The neighbours of `from` with which a shortest path to the destination begins. `hops` is the result of
    /// [`Fabric::hops_to`]. Every step leads one hop closer, so no choice among them can loop.
    pub(crate) fn next_hosts(&self, from: HostId, hops: &[Option<usize>]) -> Vec<HostId> {
        let Some(distance) = hops[from.0].filter(|&distance| distance > 0) else { return Vec::new() };
        let closer = |host: &HostId| {
            let relays = distance == 1 || self.cluster.host_of(*host).relay;
            hops[host.0] == Some(distance - 1) && relays
        };
        self.neighbours(from).into_iter().filter(closer).collect()
    }

    /// One routed rail for each rail to a neighbour with which a shortest path begins; after that each
    /// follows the first of the shortest paths. `hops` counts the hops to the host `to`.
    fn routed_rails(&self, from: HostId, to: HostId, hops: &[Option<usize>]) -> Vec<Rail> {
        let mut rails = Vec::new();
        for first in self.next_hosts(from, hops) {
            for mut rail in self.direct_rails(from, first) {
                let mut here = first;
                while here != to {
                    let Some(&next) = self.next_hosts(here, hops).first() else { break };
                    let Some(&nics) = self.pairs(here, next).first() else { break };
                    rail = rail.then(self.rail(nics));
                    here = next;
                }
                rails.push(rail);
            }
        }
        rails
    }

    fn rails(&self, a: HostId, b: HostId, hops: &[Option<usize>]) -> Vec<Rail> {
        let direct = self.direct_rails(a, b);
        if direct.is_empty() && a != b { self.routed_rails(a, b, hops) } else { direct }
    }
}

impl Cluster {
    /// The rails from `a` to `b`.
    ///
    /// Direct rails if there are any: of every cable or switch domain that both hosts are on, the k-th NIC of
    /// one paired with the k-th of the other, the shorter list starting again. They are the same, and in the
    /// same order, from both sides.
    ///
    /// Otherwise there is one routed rail for each first step of a shortest path through relaying hosts;
    /// after the first step it follows the first of the shortest paths (the kernel's routes may spread over
    /// more).
    ///
    /// Empty for a host and itself, and for ids that are not of this cluster.
    pub fn rails(&self, a: HostId, b: HostId) -> Vec<Rail> {
        if a.0.max(b.0) >= self.hosts.len() {
            return Vec::new();
        }
        let fabric = Fabric::new(self);
        fabric.rails(a, b, &fabric.hops_to(b))
    }

    /// The rails between every two hosts, each pair once (the first host is the earlier in the file).
    pub fn all_rails(&self) -> Vec<((HostId, HostId), Vec<Rail>)> {
        let fabric = Fabric::new(self);
        let hosts = || (0..self.hosts.len()).map(HostId);
        let hops: Vec<_> = hosts().map(|to| fabric.hops_to(to)).collect();
        let pairs = hosts().flat_map(|a| hosts().skip(a.0 + 1).map(move |b| (a, b)));
        pairs.map(|(a, b)| ((a, b), fabric.rails(a, b, &hops[b.0]))).collect()
    }
}
