//! The address plan of random clusters: packets are carried along its routes, over cables, and must arrive in
//! as many hops as an independent search over the cables finds.

mod common;

use common::{Recipe, connected_recipe, flood, hops, is_connected, neighbours, recipe};
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};
use tasuki_cluster::{
    AddressPlan, Cluster, HostId, NicId, PlanError, RoutePlan,
    generate::{Options, generate},
};

/// The plan with what following a route needs: the owner of each address, and the routes of each host.
struct Network<'a> {
    cluster: &'a Cluster,
    plan: AddressPlan,
    links: BTreeMap<Ipv4Addr, NicId>,
    relays_used: BTreeSet<usize>,
}

impl<'a> Network<'a> {
    fn new(cluster: &'a Cluster, plan: AddressPlan) -> Self {
        let mut links = BTreeMap::new();
        let mut identities = BTreeSet::new();
        for (host, of_host) in plan.hosts.iter().enumerate() {
            assert!(cluster.addressing.identity.contains(of_host.identity));
            assert!(identities.insert(of_host.identity), "identity {} twice", of_host.identity);
            for link in &of_host.links {
                assert!(cluster.addressing.link.contains(link.address));
                let nic = Self::nic(cluster, host, &link.interface);
                assert!(links.insert(link.address, nic).is_none(), "link address {} twice", link.address);
            }
        }
        Self { cluster, plan, links, relays_used: BTreeSet::new() }
    }

    fn nic(cluster: &Cluster, host: usize, interface: &str) -> NicId {
        let index = cluster.hosts[host].nics.iter().position(|nic| nic.name == interface).unwrap();
        NicId { host: HostId(host), index }
    }

    fn route(&self, host: usize, destination: Ipv4Addr) -> &RoutePlan {
        let mut routes = self.plan.hosts[host].routes.iter().filter(|route| route.destination == destination);
        let route = routes.next().unwrap_or_else(|| panic!("no route to {destination}"));
        assert!(routes.next().is_none(), "two routes to {destination}");
        route
    }

    /// Follows every next hop from `here` to `to`, which must be `distance` hops away.
    fn walk(&mut self, here: usize, to: usize, distance: usize) {
        if here == to {
            assert_eq!(distance, 0, "arrived too early");
            return;
        }
        assert!(distance > 0, "no arrival");
        let route = self.route(here, self.plan.hosts[to].identity).clone();
        assert_eq!(route.to, HostId(to));
        assert_eq!(route.source, self.plan.hosts[here].identity);
        assert!(!route.next_hops.is_empty());
        let mut next_hosts = BTreeSet::new();
        for hop in &route.next_hops {
            assert!((1..=256).contains(&hop.weight));
            let own = Self::nic(self.cluster, here, &hop.interface);
            let via = hop.via.unwrap();
            let peer = self.links[&via];
            // The frame reaches the NIC over cables and switches only, and the neighbour has a route of its
            // own.
            assert!(flood(self.cluster, own).contains(&peer), "{own:?} does not reach {peer:?}");
            let link = self.route(here, via);
            let [only] = &link.next_hops[..] else { panic!("a link route has one device") };
            assert_eq!(only.via, None);
            let device = Self::nic(self.cluster, here, &only.interface);
            assert!(flood(self.cluster, device).contains(&peer));
            assert_eq!(self.links[&link.source], device);
            next_hosts.insert(peer.host.0);
        }
        for next in next_hosts {
            if next != to {
                assert!(self.cluster.hosts[next].relay, "a way through {next}, which does not relay");
                self.relays_used.insert(next);
            }
            self.walk(next, to, distance - 1);
        }
    }

    /// The direct identity routes of a host use every NIC of the host that reaches the destination.
    fn uses_every_nic(&self, here: usize, to: usize) {
        let route = self.route(here, self.plan.hosts[to].identity);
        let used = |nic: &NicId| {
            let name = &self.cluster.hosts[here].nics[nic.index].name;
            route.next_hops.iter().any(|hop| hop.interface == *name)
        };
        for index in 0..self.cluster.hosts[here].nics.len() {
            let nic = NicId { host: HostId(here), index };
            if flood(self.cluster, nic).iter().any(|nic| nic.host.0 == to) {
                assert!(used(&nic), "{nic:?} is left out towards {to}");
            }
        }
    }
}

fn check(cluster: &Cluster) {
    let plan = AddressPlan::new(cluster);
    if !is_connected(cluster) {
        assert!(matches!(plan, Err(PlanError::Unreachable { .. })), "{plan:?}");
        return;
    }
    let mut network = Network::new(cluster, plan.unwrap());
    for from in 0..cluster.hosts.len() {
        let hops = hops(cluster, from);
        for (to, hops) in hops.iter().enumerate() {
            network.walk(from, to, hops.unwrap());
        }
        for to in neighbours(cluster, from) {
            network.uses_every_nic(from, to);
        }
    }
    let forwarding: BTreeSet<_> = network
        .plan
        .hosts
        .iter()
        .enumerate()
        .filter(|(_, host)| host.relays())
        .map(|(index, _)| index)
        .collect();
    assert_eq!(forwarding, network.relays_used, "forwarding is for those that relay");
}

proptest! {
    #[test]
    fn packets_arrive_by_shortest_ways(recipe in recipe()) {
        check(&recipe.cluster());
    }

    #[test]
    fn the_parser_takes_what_is_connected_and_no_more(recipe in recipe()) {
        let cluster = recipe.cluster();
        let read = Cluster::parse(&cluster.to_toml(), None);
        prop_assert_eq!(read.is_ok(), is_connected(&cluster));
        if let Ok(read) = read {
            prop_assert_eq!(read, cluster);
        }
    }

    #[test]
    fn permanent_neighbours_are_the_peers(recipe in connected_recipe()) {
        let cluster = recipe.cluster();
        let with_macs = cluster.with_lab_macs();
        let plan = AddressPlan::new(&with_macs).unwrap();
        let network = Network::new(&with_macs, plan.clone());
        for (host, of_host) in plan.hosts.iter().enumerate() {
            let known: BTreeSet<_> =
                of_host.neighbours.iter().map(|entry| (entry.interface.clone(), entry.address)).collect();
            for entry in &of_host.neighbours {
                let peer = network.links[&entry.address];
                prop_assert_eq!(with_macs.hosts[peer.host.0].nics[peer.index].mac, Some(entry.mac));
                let own = Network::nic(&with_macs, host, &entry.interface);
                prop_assert!(flood(&with_macs, own).contains(&peer));
            }
            // No next hop needs ARP.
            for hop in of_host.routes.iter().flat_map(|route| &route.next_hops) {
                prop_assert!(hop.via.is_none_or(|via| known.contains(&(hop.interface.clone(), via))));
            }
        }
        // Without MAC addresses there are no permanent neighbours.
        prop_assert!(AddressPlan::new(&cluster).unwrap().hosts.iter().all(|host| host.neighbours.is_empty()));
    }

    #[test]
    fn what_comes_last_renumbers_nobody(recipe in connected_recipe(), relay in any::<bool>()) {
        let cluster = recipe.cluster();
        // One more host at the end, and one more NIC in the first host.
        let Recipe { mut cables, switches, relay: mut relays } = recipe;
        let first_switch = relays.len();
        for place in cables.iter_mut().flat_map(|(a, b, _)| [a, b]).filter(|place| **place >= first_switch) {
            *place += 1;
        }
        cables.push((0, first_switch, 1));
        relays[0] = true;
        relays.push(relay);
        let larger = Recipe { relay: relays, switches, cables }.cluster();
        let (old, new) = (AddressPlan::new(&cluster).unwrap(), AddressPlan::new(&larger).unwrap());
        for (old, new) in old.hosts.iter().zip(&new.hosts) {
            prop_assert_eq!(old.identity, new.identity);
            prop_assert_eq!(&old.links[..], &new.links[..old.links.len()]);
        }
    }
}

#[test]
fn common_shapes_route_by_shortest_ways() {
    for shape in
        ["full:5", "pair:4", "star:5", "planes:4x3", "ring:6", "ring:5", "mesh:3x4", "torus:3x4", "mixed:8/4"]
    {
        for copies in [1, 2] {
            let options = Options { nics_per_cable: copies, ..Options::default() };
            check(&generate(&shape.parse().unwrap(), &options).unwrap());
        }
    }
}
