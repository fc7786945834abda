//! What routes load on cables: figures by hand, and random clusters, whose address plans are followed route
//! by route.

mod common;

use common::connected_recipe;
use proptest::prelude::*;
use std::{collections::BTreeMap, net::Ipv4Addr};
use tasuki_cluster::{
    AddressPlan, CableId, Cluster, End, Failed, HostId, NicId, Rail, RouteLoads, RoutePlan, SwitchId,
    generate::{Options, generate},
};

fn shape(text: &str) -> Cluster {
    generate(&text.parse().unwrap(), &Options::default()).unwrap()
}

fn loads(cluster: &Cluster) -> Vec<[f64; 2]> {
    RouteLoads::new(cluster).all_to_all(None).expect("connected")
}

/// Eight hosts on a switch, in two groups of four that are also fully cabled. A host of the same group is
/// reached by its cable and by the switch, a half each; four others by the switch alone: 4 + 3 / 2 leave and
/// come by the cable to the switch.
#[test]
fn a_rail_by_a_switch_is_used_beside_a_cable() {
    let cluster = shape("mixed:8/4");
    for (cable, load) in cluster.cables.iter().zip(loads(&cluster)) {
        let is_switched = cable.ends.iter().any(|end| matches!(end, End::Port { .. }));
        assert_eq!(load, if is_switched { [5.5; 2] } else { [0.5; 2] });
    }
}

/// In a ring of four each of the eight ways of a cable carries what its host sends to the next one, and its
/// share of the 4 x 2 that pass a relay. One cable less leaves a line: the middle one carries 2 x 2.
#[test]
fn relays_share_and_take_over() {
    let ring = shape("ring:4");
    assert_eq!(loads(&ring), [[2.0; 2]; 4]);
    let mut left = RouteLoads::new(&ring).all_to_all(Some(Failed::Cable(CableId(0)))).unwrap();
    left.sort_by(|a, b| a[0].total_cmp(&b[0]));
    assert_eq!(left, [[0.0; 2], [3.0; 2], [3.0; 2], [4.0; 2]]);
    let star = shape("star:3");
    assert_eq!(RouteLoads::new(&star).all_to_all(Some(Failed::Cable(CableId(1)))), None);
    assert_eq!(RouteLoads::new(&star).all_to_all(Some(Failed::Switch(SwitchId(0)))), None);
    let planes = shape("planes:3x2");
    let left = RouteLoads::new(&planes).all_to_all(Some(Failed::Switch(SwitchId(0)))).unwrap();
    let total = |at: usize| left.iter().map(|load| load[at]).sum::<f64>();
    assert_eq!((total(0), total(1)), (6.0, 6.0), "6 pairs go by the other switch");
}

/// A rail of 10 Gbit/s takes ten times what one of 1 Gbit/s takes.
#[test]
fn rails_carry_as_their_rates() {
    let mut cluster = shape("pair:2");
    cluster.hosts.iter_mut().for_each(|host| host.nics[1].rate = "10G".parse().unwrap());
    assert_eq!(loads(&cluster), [[1.0 / 11.0; 2], [10.0 / 11.0; 2]]);
}

/// Follows routes of a plan.
struct Follower<'a> {
    cluster: &'a Cluster,
    routes: Vec<Vec<RoutePlan>>,
    identities: Vec<Ipv4Addr>,
    links: BTreeMap<Ipv4Addr, NicId>,
    dead: Vec<[NicId; 2]>,
    load: Vec<[f64; 2]>,
}

impl Follower<'_> {
    /// Sends so much from `here` to `to`; `None` if a rail on the way is dead.
    fn send(&mut self, here: usize, to: usize, amount: f64) -> Option<()> {
        if here == to {
            return Some(());
        }
        let route = self.routes[here].iter().find(|route| route.destination == self.identities[to])?.clone();
        let all: f64 = route.next_hops.iter().map(|hop| f64::from(hop.weight)).sum();
        for hop in &route.next_hops {
            let own = self.cluster.nic(&format!("{}:{}", self.cluster.hosts[here].name, hop.interface))?;
            let peer = self.links[&hop.via?];
            if self.dead.contains(&[own, peer]) || self.dead.contains(&[peer, own]) {
                return None;
            }
            let rails = self.cluster.rails(HostId(here), peer.host);
            let rail = rails.into_iter().find(|rail| rail.nics == [own, peer])?;
            let part = amount * f64::from(hop.weight) / all;
            self.carry(&rail, part);
            self.send(peer.host.0, to, part)?;
        }
        Some(())
    }

    fn carry(&mut self, rail: &Rail, amount: f64) {
        let mut here = End::Nic(rail.nics[0]);
        for cable in &rail.cables {
            let ends = self.cluster.cables[cable.0].ends;
            let at = ends.iter().position(|end| match (*end, here) {
                (End::Port { switch: a, .. }, End::Port { switch: b, .. }) => a == b,
                (end, here) => end == here,
            });
            let at = at.expect("the cables follow each other");
            self.load[cable.0][at] += amount;
            here = ends[1 - at];
        }
    }
}

/// The loads by the routes of the address plan, or by those around what has failed.
fn followed(cluster: &Cluster, failed: Option<Failed>) -> Option<Vec<[f64; 2]>> {
    let plan = AddressPlan::new(cluster).expect("a plan");
    let direct = cluster.all_rails().into_iter().flat_map(|(_, rails)| rails).filter(Rail::is_direct);
    let is_dead = |rail: &Rail| match failed {
        None => false,
        Some(Failed::Cable(gone)) => rail.cables.contains(&gone),
        Some(Failed::Switch(gone)) => rail.switches.contains(&gone),
    };
    let dead: Vec<_> = direct.filter(is_dead).map(|rail| rail.nics).collect();
    let around = plan.around(cluster, dead.iter().copied()).expect("routes");
    let mut links = BTreeMap::new();
    for (host, planned) in plan.hosts.iter().enumerate() {
        for link in &planned.links {
            let name = format!("{}:{}", cluster.hosts[host].name, link.interface);
            links.insert(link.address, cluster.nic(&name).expect("its own NIC"));
        }
    }
    let identities = plan.hosts.iter().map(|host| host.identity).collect();
    let load = vec![[0.0; 2]; cluster.cables.len()];
    let mut follower = Follower { cluster, routes: around.routes, identities, links, dead, load };
    let hosts = cluster.hosts.len();
    for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
        follower.send(from, to, 1.0)?;
    }
    Some(follower.load)
}

proptest! {
    #[test]
    fn loads_are_those_of_the_planned_routes(recipe in connected_recipe()) {
        let cluster = recipe.cluster();
        let loads = RouteLoads::new(&cluster);
        let cables = (0..cluster.cables.len()).map(|cable| Failed::Cable(CableId(cable)));
        let switches = (0..cluster.switches.len()).map(|switch| Failed::Switch(SwitchId(switch)));
        for failed in [None].into_iter().chain(cables.chain(switches).map(Some)) {
            let (found, expected) = (loads.all_to_all(failed), followed(&cluster, failed));
            prop_assert_eq!(found.is_some(), expected.is_some(), "{:?}", failed);
            let pairs = found.iter().flatten().flatten().zip(expected.iter().flatten().flatten());
            for (found, expected) in pairs {
                prop_assert!((found - expected).abs() < 1e-9, "{failed:?}: {found} {expected}");
            }
        }
    }
}
