//! Rails, compared with a walk over the cables that they name.

mod common;

use common::{connected_recipe, flood, hops, recipe};
use proptest::prelude::*;
use std::collections::BTreeSet;
use tasuki_cluster::{
    Cluster, End, HostId, NicId, Rail, Rate, SwitchId,
    generate::{Options, generate},
};

/// Follows a rail cable by cable, finds the slowest part, and checks that it passes the switches and hosts
/// that it names.
fn follow(cluster: &Cluster, rail: &Rail) {
    let (mut switches, mut relays): (Vec<SwitchId>, Vec<HostId>) = (Vec::new(), Vec::new());
    let mut slowest = Rate::from_bits_per_second(u64::MAX);
    let mut here = End::Nic(rail.nics[0]);
    for (index, cable) in rail.cables.iter().enumerate() {
        let [a, b] = cluster.cables[cable.0].ends;
        // The next cable leaves from the switch or relaying host at which the last one ended.
        let (from, to) = match here {
            End::Nic(nic) if index == 0 => {
                if a == End::Nic(nic) {
                    (a, b)
                } else {
                    (b, a)
                }
            }
            End::Nic(nic) => {
                relays.push(nic.host);
                let starts = |end: End| matches!(end, End::Nic(other) if other.host == nic.host);
                if starts(a) { (a, b) } else { (b, a) }
            }
            End::Port { switch, .. } => {
                switches.push(switch);
                let starts = |end: End| matches!(end, End::Port { switch: other, .. } if other == switch);
                if starts(a) { (a, b) } else { (b, a) }
            }
        };
        match (here, from) {
            (End::Nic(at), End::Nic(next)) => assert_eq!(at.host, next.host),
            (End::Port { switch: at, .. }, End::Port { switch: next, .. }) => assert_eq!(at, next),
            _ => panic!("the cables of the rail do not join"),
        }
        for end in [from, to] {
            slowest = slowest.min(match end {
                End::Nic(nic) => cluster.hosts[nic.host.0].nics[nic.index].rate,
                End::Port { switch, .. } => cluster.switches[switch.0].rate,
            });
        }
        here = to;
    }
    assert_eq!(here, End::Nic(rail.nics[1]));
    assert_eq!((rail.rate, &rail.switches, &rail.relays), (slowest, &switches, &relays));
    assert!(rail.relays.iter().all(|host| cluster.hosts[host.0].relay));
}

proptest! {
    #[test]
    fn rails_are_ways(recipe in recipe()) {
        let cluster = recipe.cluster();
        for from in 0..cluster.hosts.len() {
            let hops = hops(&cluster, from);
            for (to, &hops) in hops.iter().enumerate() {
                let rails = cluster.rails(HostId(from), HostId(to));
                prop_assert_eq!(rails.is_empty(), from == to || hops.is_none());
                for rail in &rails {
                    prop_assert_eq!(rail.nics.map(|nic| nic.host.0), [from, to]);
                    prop_assert_eq!(Some(rail.relays.len() + 1), hops);
                    follow(&cluster, rail);
                }
                // Direct rails are the same from the other side.
                if hops == Some(1) {
                    let back = cluster.rails(HostId(to), HostId(from));
                    let turned: Vec<_> = rails.iter().map(|rail| [rail.nics[1], rail.nics[0]]).collect();
                    prop_assert_eq!(back.iter().map(|rail| rail.nics).collect::<Vec<_>>(), turned);
                }
            }
        }
    }

    #[test]
    fn every_nic_that_reaches_the_peer_is_in_a_direct_rail(recipe in connected_recipe()) {
        let cluster = recipe.cluster();
        for ((a, b), rails) in cluster.all_rails() {
            let used: BTreeSet<NicId> = rails.iter().flat_map(|rail| rail.nics).collect();
            for (host, peer) in [(a, b), (b, a)] {
                for index in 0..cluster.hosts[host.0].nics.len() {
                    let nic = NicId { host, index };
                    if flood(&cluster, nic).iter().any(|other| other.host == peer) {
                        prop_assert!(used.contains(&nic), "{}", cluster.nic_name(nic));
                    }
                }
            }
        }
    }
}

fn shape(text: &str) -> Cluster {
    generate(&text.parse().unwrap(), &Options::default()).unwrap()
}

fn pairs(cluster: &Cluster, a: usize, b: usize) -> Vec<[String; 2]> {
    cluster.rails(HostId(a), HostId(b)).iter().map(|rail| rail.names(cluster).nics).collect()
}

fn named(pairs: &[[&str; 2]]) -> Vec<[String; 2]> {
    pairs.iter().map(|pair| pair.map(str::to_owned)).collect()
}

#[test]
fn figures_by_hand() {
    assert_eq!(pairs(&shape("full:4"), 1, 3), named(&[["n2:eth3", "n4:eth2"]]));
    let planes = named(&[["n1:eth1", "n4:eth1"], ["n1:eth2", "n4:eth2"], ["n1:eth3", "n4:eth3"]]);
    assert_eq!(pairs(&shape("planes:4x3"), 0, 3), planes);
    // Inside a group by cable and by switch, across groups by switch only.
    assert_eq!(pairs(&shape("mixed:8/4"), 0, 1), named(&[["n1:eth1", "n2:eth1"], ["n1:eth4", "n2:eth4"]]));
    assert_eq!(pairs(&shape("mixed:8/4"), 0, 4), named(&[["n1:eth4", "n5:eth4"]]));
    assert_eq!(pairs(&shape("pair:4"), 0, 1).len(), 4);
    // A ring of six: the opposite host is three hops away, both ways round.
    let ring = shape("ring:6");
    let rails = ring.rails(HostId(0), HostId(3));
    let relays: Vec<_> = rails.iter().map(|rail| rail.names(&ring).relays).collect();
    assert_eq!(relays, [["n2", "n3"], ["n6", "n5"]]);
    assert!(ring.rails(HostId(0), HostId(9)).is_empty());
}

#[test]
fn a_slow_switch_bounds_the_rail() {
    let mut cluster = shape("star:2");
    cluster.switches[0].rate = "100M".parse().unwrap();
    assert_eq!(cluster.rails(HostId(0), HostId(1))[0].rate.to_string(), "100M");
}
