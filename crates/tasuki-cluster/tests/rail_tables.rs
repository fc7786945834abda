//! `rails.json`: tables that were worked out by hand, agreement of both sides, and texts that are refused.

mod common;

use common::connected_recipe;
use proptest::prelude::*;
use std::path::Path;
use tasuki_cluster::{
    AddressPlan, Cluster, HostId, RailTable,
    generate::{Options, generate},
};

fn tables(cluster: &Cluster) -> Vec<RailTable> {
    RailTable::of_all(cluster, &AddressPlan::new(cluster).unwrap(), None)
}

fn parse(text: &str) -> Result<RailTable, String> {
    RailTable::parse(text, Path::new("rails.json")).map_err(|error| error.to_string())
}

// n1 is cabled to n2 (eth1 to eth1) and n3 (eth2 to n3's eth2); addresses are 10.78.HOST.NIC.
#[test]
fn a_ring_of_three() {
    let options = Options { rate: "2.5G".parse().unwrap(), mtu: 9000, ..Options::default() };
    let tables = tables(&generate(&"ring:3".parse().unwrap(), &options).unwrap());
    let expected = r#"{"version":1,"host":"n1","identity":"10.77.0.1","peers":{
        "10.77.0.2":{"host":"n2","rails":[
            {"rail":0,"nic":"eth1","local":"10.78.1.1","remote":"10.78.2.1","mtu":9000,"rate_mbits":2500}]},
        "10.77.0.3":{"host":"n3","rails":[
            {"rail":0,"nic":"eth2","local":"10.78.1.2","remote":"10.78.3.2","mtu":9000,
            "rate_mbits":2500}]}}}"#;
    assert_eq!(parse(expected).unwrap(), tables[0]);
    assert_eq!(parse(&tables[0].to_json()).unwrap(), tables[0]);
}

#[test]
fn hosts_without_a_cable_between_them_have_no_rails_but_are_named() {
    let tables = tables(&generate(&"ring:5".parse().unwrap(), &Options::default()).unwrap());
    let peers = &tables[0].peers;
    let rails: Vec<(&str, usize)> =
        peers.values().map(|peer| (peer.host.as_str(), peer.rails.len())).collect();
    assert_eq!(rails, [("n2", 1), ("n3", 0), ("n4", 0), ("n5", 1)]);
}

#[test]
fn one_rate_for_all_goes_before_the_files_and_slow_rails_are_not_of_rate_zero() {
    let options = Options { rate: "300k".parse().unwrap(), ..Options::default() };
    let cluster = generate(&"star:3".parse().unwrap(), &options).unwrap();
    let plan = AddressPlan::new(&cluster).unwrap();
    let rate = |given: Option<&str>| {
        let table = &RailTable::of_all(&cluster, &plan, given.map(|rate| rate.parse().unwrap()))[0];
        table.peers.values().map(|peer| peer.rails[0].rate_mbits).collect::<Vec<_>>()
    };
    assert_eq!(rate(None), [1, 1]);
    assert_eq!(rate(Some("25G")), [25_000, 25_000]);
}

#[test]
fn foreign_texts_are_refused_with_a_reason() {
    let rail = |n: u8| {
        format!(
            r#"{{"rail":{n},"nic":"e","local":"10.0.0.1","remote":"10.0.0.2","mtu":1500,"rate_mbits":1}}"#
        )
    };
    let file = |version: u8, rails: &[String]| {
        let rails = rails.join(",");
        let peers = format!(r#"{{"10.77.0.2":{{"host":"n2","rails":[{rails}]}}}}"#);
        format!(r#"{{"version":{version},"host":"n1","identity":"10.77.0.1","peers":{peers}}}"#)
    };
    assert!(parse(&file(1, &[rail(0), rail(30)])).is_ok());
    for (text, reason) in [
        (String::new(), "line 1"),
        (file(2, &[]), "version 2"),
        (file(1, &[rail(0), rail(0)]), "rail 0 to n2"),
        (file(1, &[rail(31)]), "rail 31 to n2"),
        (file(1, &[rail(1)]).replace("\"e\"", "\"e;id\""), "bad name \"e;id\""),
        (file(1, &[rail(1)]).replace("\"n2\"", "\"-n2\""), "bad name \"-n2\""),
        (file(1, &[]).replace("10.77.0.1", "10.77.0"), "IPv4"),
        (file(1, &[]).replace("\"host\":\"n1\"", "\"hots\":\"n1\""), "hots"),
    ] {
        let error = parse(&text).expect_err(&text);
        assert!(error.contains(reason) && error.contains("rails.json"), "{error}");
    }
    let missing = RailTable::load(Path::new("/no/such/rails.json")).unwrap_err().to_string();
    assert!(missing.contains("/no/such/rails.json") && missing.contains("lab up"), "{missing}");
}

proptest! {
    // Both hosts of a pair must mean the same rail by a number: the local address on one is the remote
    // address on the other.
    #[test]
    fn both_sides_agree(recipe in connected_recipe()) {
        let cluster = recipe.cluster();
        let tables = tables(&cluster);
        for (a, own) in tables.iter().enumerate() {
            prop_assert_eq!(own.peers.len(), tables.len() - 1);
            for (b, other) in tables.iter().enumerate().filter(|(b, _)| *b != a) {
                let here = &own.peers[&other.identity];
                let there = &other.peers[&own.identity];
                let rails = cluster.rails(HostId(a), HostId(b));
                let direct = rails.iter().filter(|rail| rail.is_direct()).count();
                prop_assert_eq!(here.rails.len(), direct.min(31));
                for (one, two) in here.rails.iter().zip(&there.rails) {
                    prop_assert_eq!((one.rail, one.local, one.remote), (two.rail, two.remote, two.local));
                    prop_assert_eq!((one.mtu, one.rate_mbits), (two.mtu, two.rate_mbits));
                }
            }
        }
    }
}
