//! The routes of one host.

use super::{
    addresses::{Addresses, PlanError},
    host::{NeighbourPlan, NextHop, RoutePlan},
};
use crate::{Cluster, HostId, NicId, Rate, fabric::Fabric};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

/// Highest weight of a next hop: the kernel keeps the weight less one in eight bits (`rtnh_hops`).
const WEIGHT_MAX: u128 = 256;

/// Makes the routes of hosts, and records which hosts they pass through.
pub(super) struct Router<'a> {
    pub(super) fabric: &'a Fabric<'a>,
    pub(super) addresses: &'a Addresses,
    /// Of each destination: the number of hops from every host.
    hops: Vec<Vec<Option<usize>>>,
    /// Hosts through which a route leads.
    pub(super) relays: BTreeSet<HostId>,
}

impl<'a> Router<'a> {
    pub(super) fn new(fabric: &'a Fabric<'a>, addresses: &'a Addresses) -> Self {
        let targets = 0..fabric.cluster.hosts.len();
        let hops = targets.map(|host| fabric.hops_to(HostId(host))).collect();
        Self { fabric, addresses, hops, relays: BTreeSet::new() }
    }

    /// Routes to the link addresses of all neighbours. Each has one device: that of the first rail to the
    /// peer's NIC.
    pub(super) fn link_routes(&self, host: HostId) -> Vec<RoutePlan> {
        let mut routes = Vec::new();
        for to in self.fabric.neighbours(host) {
            let mut first = BTreeMap::new();
            for [own, peer] in self.fabric.pairs(host, to) {
                first.entry(peer).or_insert(own);
            }
            routes.extend(first.into_iter().map(|(peer, own)| RoutePlan {
                to,
                destination: self.addresses.link(peer),
                source: self.addresses.link(own),
                next_hops: vec![NextHop { interface: self.interface(own), via: None, weight: 1 }],
            }));
        }
        routes
    }

    /// Routes to the identity addresses of all other hosts: over all rails to the host itself, or else to all
    /// neighbours with which a shortest path begins.
    pub(super) fn identity_routes(&mut self, host: HostId) -> Result<Vec<RoutePlan>, PlanError> {
        let hosts = 0..self.fabric.cluster.hosts.len();
        hosts.map(HostId).filter(|&to| to != host).map(|to| self.identity_route(host, to)).collect()
    }

    pub(super) fn identity_route(&mut self, host: HostId, to: HostId) -> Result<RoutePlan, PlanError> {
        let next_hosts = self.fabric.next_hosts(host, &self.hops[to.0]);
        self.relays.extend(next_hosts.iter().filter(|&&next| next != to));
        let pairs: Vec<_> = next_hosts.iter().flat_map(|&next| self.fabric.pairs(host, next)).collect();
        if pairs.is_empty() {
            let name = |id: HostId| self.fabric.cluster.host_of(id).name.clone();
            return Err(PlanError::Unreachable { from: name(host), to: name(to) });
        }
        let rails: Vec<_> = pairs.iter().map(|&pair| (pair, self.fabric.path(pair).rate)).collect();
        let weights = weights_of(self.fabric.cluster, &rails);
        let next_hops = pairs.iter().zip(weights).map(|(&[own, peer], weight)| NextHop {
            interface: self.interface(own),
            via: Some(self.addresses.link(peer)),
            weight,
        });
        let next_hops = next_hops.collect();
        let (destination, source) = (self.addresses.identity(to), self.addresses.identity(host));
        Ok(RoutePlan { to, destination, source, next_hops })
    }

    /// Permanent neighbours: for every rail whose peer's MAC address is known.
    pub(super) fn neighbours(&self, host: HostId) -> Vec<NeighbourPlan> {
        let cluster = self.fabric.cluster;
        let mut plans: BTreeMap<(NicId, Ipv4Addr), NeighbourPlan> = BTreeMap::new();
        for to in self.fabric.neighbours(host) {
            for [own, peer] in self.fabric.pairs(host, to) {
                let Some(mac) = cluster.nic_of(peer).mac else { continue };
                let address = self.addresses.link(peer);
                let plan = NeighbourPlan { interface: self.interface(own), address, mac };
                plans.insert((own, address), plan);
            }
        }
        plans.into_values().collect()
    }

    fn interface(&self, nic: NicId) -> String {
        self.fabric.cluster.nic_of(nic).name.clone()
    }
}

/// The weights of the rails of a route, each with the rate of its path: as the rates that they have when all
/// are used, which is that of the path, or the share of a NIC that several of the rails use.
pub(crate) fn weights_of(cluster: &Cluster, rails: &[([NicId; 2], Rate)]) -> Vec<u16> {
    if rails.len() == 1 {
        return vec![1];
    }
    let mut uses = BTreeMap::new();
    for nic in rails.iter().flat_map(|(nics, _)| nics) {
        *uses.entry(*nic).or_insert(0_u64) += 1;
    }
    let part = |nic: &NicId| cluster.nic_of(*nic).rate.bits_per_second / uses[nic];
    let share = |(nics, rate): &([NicId; 2], Rate)| {
        Rate::from_bits_per_second(rate.bits_per_second.min(part(&nics[0])).min(part(&nics[1])))
    };
    weights(&rails.iter().map(share).collect::<Vec<_>>())
}

/// The smallest whole weights that are proportional to the rates within one part in a thousand. If small ones
/// do not suffice, the fastest gets [`WEIGHT_MAX`].
fn weights(rates: &[Rate]) -> Vec<u16> {
    let rates: Vec<_> = rates.iter().map(|rate| u128::from(rate.bits_per_second)).collect();
    let fastest = rates.iter().copied().max().unwrap_or(1).max(1);
    let at_scale = |scale: u128| {
        let weight = move |rate: &u128| ((2 * rate * scale + fastest) / (2 * fastest)).max(1);
        rates.iter().map(weight)
    };
    let close = |scale: &u128| {
        let mut pairs = at_scale(*scale).zip(&rates);
        pairs.all(|(weight, rate)| (weight * fastest).abs_diff(rate * scale) * 1000 <= rate * scale)
    };
    let scale = (1..=WEIGHT_MAX).find(close).unwrap_or(WEIGHT_MAX);
    at_scale(scale).map(|weight| weight.min(WEIGHT_MAX) as u16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_as_the_rates() {
        let of = |rates: &[&str]| {
            let rates: Vec<Rate> = rates.iter().map(|rate| rate.parse().unwrap()).collect();
            weights(&rates)
        };
        assert_eq!(of(&["1G", "1G", "1G"]), [1, 1, 1]);
        assert_eq!(of(&["1G", "2.5G", "10G"]), [2, 5, 20]);
        assert_eq!(of(&["100M", "1G"]), [1, 10]);
        assert_eq!(of(&["333333333", "1G"]), [1, 3]);
        // Beyond 1:256 the slow one still gets the least weight, 1.
        assert_eq!(of(&["1", "1T"]), [1, 256]);
    }
}
