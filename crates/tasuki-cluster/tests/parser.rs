//! The parser on arbitrary and mutated input and on planted faults, and the text forms of values.

mod common;

use common::connected_recipe;
use proptest::prelude::*;
use std::path::Path;
use tasuki_cluster::{
    Cluster, End, HostId, Ipv4Net, MacAddr, Rate, SwitchId,
    generate::{Options, Shape, generate},
};

const FULL: &str = include_str!("../../../examples/mixed8.toml");

/// Reading must end, and the report must be printable.
fn survives(text: &str) {
    if let Err(errors) = Cluster::parse(text, Some(Path::new("x.toml"))) {
        assert!(!errors.errors.is_empty());
        assert!(!errors.to_string().is_empty());
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    let grid = prop_oneof![prop::collection::vec(1..4_usize, 2), prop::collection::vec(1..4_usize, 3)];
    let grid = grid.prop_filter("two hosts or more", |sizes| sizes.iter().product::<usize>() > 1);
    prop_oneof![
        (2..9_usize).prop_map(|hosts| Shape::Full { hosts }),
        (2..20_usize).prop_map(|hosts| Shape::Star { hosts }),
        (3..20_usize).prop_map(|hosts| Shape::Ring { hosts }),
        (1..20_usize).prop_map(|cables| Shape::Pair { cables }),
        (2..9_usize, 1..5_usize).prop_map(|(hosts, nics)| Shape::Planes { hosts, nics }),
        (1..4_usize, 2..5_usize).prop_map(|(groups, group)| Shape::Mixed { hosts: groups * group, group }),
        grid.clone().prop_map(|sizes| Shape::Mesh { sizes }),
        grid.prop_map(|sizes| Shape::Torus { sizes }),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    (1..u64::MAX, 68..=65_535_u32, 1..=65_535_u32, 1..3_usize).prop_map(
        |(rate, mtu, cores, nics_per_cable)| Options {
            rate: Rate::from_bits_per_second(rate),
            mtu,
            cores: Some(cores),
            nics_per_cable,
        },
    )
}

proptest! {
    #[test]
    fn generated_clusters_read_back(shape in shapes(), options in options()) {
        let cluster = generate(&shape, &options).unwrap();
        prop_assert_eq!(shape.to_string().parse::<Shape>().unwrap(), shape);
        let toml = cluster.to_toml();
        prop_assert_eq!(Cluster::parse(&toml, None).map_err(|errors| errors.to_string()), Ok(cluster));
    }

    #[test]
    fn every_part_reads_back(
        recipe in connected_recipe(),
        user in "[A-Za-z0-9_][A-Za-z0-9_.+-]{0,6}(@[A-Za-z0-9_+][A-Za-z0-9_.+-]{0,5})?",
        address in "[A-Za-z0-9_][A-Za-z0-9_.-]{0,12}",
        port in 1..=u16::MAX,
        rack in "\\PC*",
        length in 0.0..f64::MAX,
        mac in any::<[u8; 5]>(),
        cores in 1..100_u32,
    ) {
        let mut cluster = recipe.cluster();
        cluster.name = "a-Name_0.9".into();
        cluster.addressing.identity = "172.16.0.0/12".parse().unwrap();
        cluster.hosts[0].management = Some(address.parse().unwrap());
        cluster.hosts[0].ssh.user = Some(user.parse().unwrap());
        cluster.hosts[1].management = Some(format!("{user}@{address}").parse().unwrap());
        cluster.hosts[1].ssh.port = Some(port);
        cluster.ssh.port = Some(22);
        cluster.ssh.jump = Some(format!("{user}@{address}:{port},{address}").parse().unwrap());
        cluster.hosts[0].rack = Some(rack);
        cluster.hosts[1].cores = Some(cores);
        cluster.cables[0].length_m = Some(length);
        if let Some(nic) = cluster.hosts[0].nics.first_mut() {
            nic.mac = Some(MacAddr([2, mac[0], mac[1], mac[2], mac[3], mac[4]]));
        }
        let toml = cluster.to_toml();
        let again = Cluster::parse(&toml, None).map_err(|errors| errors.to_string());
        prop_assert_eq!(again, Ok(cluster), "{}", toml);
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        survives(&text);
    }

    #[test]
    fn toml_like_text_never_panics(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        survives(&words.concat());
    }

    #[test]
    fn mutated_files_never_panic(
        cuts in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..30_usize, prop::sample::select(WORDS)),
            1..6,
        )
    ) {
        let mut text: Vec<char> = FULL.chars().collect();
        for (at, length, word) in cuts {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, word.chars());
            prop_assume!(!text.is_empty());
        }
        survives(&text.into_iter().collect::<String>());
    }

    /// A misspelt NIC in a cable is the only error, and its place is where an editor finds the word.
    #[test]
    fn a_planted_fault_is_named_by_its_place(shape in shapes(), which in any::<prop::sample::Index>()) {
        let cluster = generate(&shape, &Options::default()).unwrap();
        let cable = which.index(cluster.cables.len());
        let End::Nic(nic) = cluster.cables[cable].ends[0] else { unreachable!("generated cables begin at a \
            NIC") };
        let name = cluster.nic_name(nic);
        let toml = cluster.to_toml();
        let wrong = toml.replace(&format!("ends = [\"{name}\""), &format!("ends = [\"{name}x\""));
        prop_assert_eq!(wrong.len(), toml.len() + 1);
        let errors = Cluster::parse(&wrong, None).unwrap_err();
        prop_assert_eq!(errors.errors.len(), 1, "{}", errors);
        let place = errors.errors[0].place;
        let quoted = format!("\"{name}x\"");
        let (line, text) = wrong.lines().enumerate().find(|(_, line)| line.contains(&quoted)).unwrap();
        prop_assert_eq!((place.line, place.column), (line + 1, text.find('"').unwrap() + 1));
        let meant = format!("did you mean {name:?}?");
        prop_assert!(errors.to_string().contains(&meant), "{}", errors);
    }

    #[test]
    fn rates_read_back_and_are_no_longer_than_bits(bits in 1..=u64::MAX, zeros in 0..15_u32) {
        let rate = Rate::from_bits_per_second((bits >> 10).saturating_mul(10_u64.pow(zeros)).max(1));
        let text = rate.to_string();
        prop_assert_eq!(text.parse::<Rate>(), Ok(rate));
        prop_assert!(text.len() <= rate.bits_per_second.to_string().len());
    }

    #[test]
    fn macs_and_networks_read_back(mac in any::<[u8; 6]>(), address in any::<u32>(), prefix in 0..=32_u8) {
        let mac = MacAddr(mac);
        prop_assert_eq!(mac.to_string().parse::<MacAddr>(), Ok(mac));
        let net = Ipv4Net::around(address.into(), prefix);
        prop_assert_eq!(net.to_string().parse::<Ipv4Net>(), Ok(net));
        prop_assert!(net.contains(address.into()));
        // The address is at its own offset from the network address.
        let number = address - u32::from(net.address);
        prop_assert_eq!(net.host(number), Some(address.into()));
        prop_assert_eq!(net.host(u32::MAX).is_some(), prefix == 0);
    }
}

const WORDS: &[&str] = &[
    "[[host]]\n",
    "[[switch]]\n",
    "[[cable]]\n",
    "[cluster]\n",
    "[defaults]\n",
    "[host]\n",
    "host",
    "name",
    "nic",
    " = ",
    "\"n1\"",
    "\"eth1\"",
    "\"sw\"",
    "\"n1:eth1\"",
    "\"sw:1\"",
    "\"sw\"",
    "ends = [",
    "]",
    "{",
    "}",
    ",",
    "\n",
    "\"",
    "'",
    "#",
    "é\u{1f984}",
    "ports = 3\n",
    "ports = 4294967295\n",
    "mtu = ",
    "1500",
    "-1",
    "0x10",
    "1e400",
    "nan",
    "inf",
    "1_0",
    "rate = ",
    "\"1G\"",
    "[[host.nic]]\n",
    "host.nic",
    ".",
    "1979-05-27",
    "true",
    "\\",
    "\r",
    "\u{0}",
    "identity = \"0.0.0.0/0\"\n",
    "link = \"255.255.255.255/32\"\n",
    "name = \"n2\"\n",
    "name = \"sw\"\n",
];

#[test]
fn rates_in_their_shortest_form() {
    let shown = |text: &str| text.parse::<Rate>().unwrap().to_string();
    for text in ["100M", "2.5G", "1G", "10G", "1T", "56k", "1.5M", "999"] {
        assert_eq!(shown(text), text);
    }
    assert_eq!(shown("1000000000"), "1G");
    assert_eq!(shown("1000M"), "1G");
    assert_eq!(shown("0.1G"), "100M");
    assert_eq!(shown("1K"), "1k");
    assert_eq!("2.5G".parse::<Rate>().unwrap().bits_per_second, 2_500_000_000);
    assert_eq!(shown("1234567891"), "1234567891");
    for text in [
        "",
        "G",
        "1g",
        "1 G",
        "1.G",
        ".5G",
        "-1G",
        "+1G",
        "1e9",
        "0",
        "0.0G",
        "1.5",
        "99999999T",
        "1GG",
        "１G",
    ] {
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
}

#[test]
fn networks_and_macs() {
    let message = |text: &str| text.parse::<Ipv4Net>().unwrap_err().to_string();
    assert!(message("10.77.3.1/16").ends_with("the network is written 10.77.0.0/16"));
    for text in ["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/+8", "10.0.0.0/8/8", "::/0"] {
        assert!(text.parse::<Ipv4Net>().is_err(), "{text}");
    }
    let net: Ipv4Net = "10.77.0.0/16".parse().unwrap();
    assert_eq!(net.host(258).unwrap().to_string(), "10.77.1.2");
    assert_eq!((net.host(65_535).unwrap().to_string(), net.host(65_536)), ("10.77.255.255".into(), None));
    assert!(!net.contains("10.78.0.0".parse().unwrap()));
    assert_eq!("02-54-00-AB-cd-01".parse::<MacAddr>().unwrap().to_string(), "02:54:00:ab:cd:01");
    for text in [
        "02:54:00:ab:cd",
        "02:54:00:ab:cd:01:02",
        "02:54:00:ab:cd:1",
        "02:54:00:ab:cd:+1",
        "02:54-00:ab:cd:01",
    ] {
        assert!(text.parse::<MacAddr>().is_err(), "{text}");
    }
}

#[test]
fn both_ways_to_write_nics_and_ports() {
    let text = r#"
        [[host]]
        name = "n1"
        [[host.nic]]
        name = "eth1"
        rate = 0x3b9aca00
        [[host.nic]]
        name = "eth2"
        [[host]]
        name = "n2"
        nic = [{ name = "eth1" }]
        [[switch]]
        name = "sw"
        ports = 3
        [[cable]]
        ends = ["n1:eth1", "sw"]
        [[cable]]
        ends = ["sw", "n2:eth1"]
        [[cable]]
        ends = ["n1:eth2", "sw:1"]
        length = 2
    "#;
    let cluster = Cluster::parse(text, Some(Path::new("/tmp/my lab.toml"))).unwrap();
    assert_eq!(cluster.name, "my-lab");
    assert_eq!(cluster.hosts[0].nics[0].rate.to_string(), "1G");
    assert_eq!(cluster.cables[2].length_m, Some(2.0));
    // The last cable names port 1, so the first two cables get 2 and 3.
    let port = |port| End::Port { switch: SwitchId(0), port };
    assert_eq!(cluster.cables[0].ends[1], port(2));
    assert_eq!(cluster.cables[1].ends[0], port(3));
    assert_eq!(cluster.end("sw:2"), Some(port(2)));
    assert_eq!(cluster.end("sw:4"), None);
    assert_eq!(cluster.end("n1:eth2"), cluster.nic("n1:eth2").map(End::Nic));
    assert_eq!(cluster.end_name(cluster.end("n1:eth2").unwrap()), "n1:eth2");
    assert_eq!(cluster.cable_at(port(1)).map(|cable| cable.0), Some(2));
}

#[test]
fn json_names_the_ends_of_cables() {
    let cluster = generate(&"star:2".parse().unwrap(), &Options::default()).unwrap();
    let json = serde_json::to_value(&cluster).unwrap();
    assert_eq!(json["cables"][1]["ends"], serde_json::json!(["n2:eth1", "sw1:2"]));
    assert_eq!(json["hosts"][0]["nics"][0]["rate"], "1G");
    assert_eq!(json["addressing"]["identity"], "10.77.0.0/16");
    let plan = tasuki_cluster::AddressPlan::new(&cluster.with_lab_macs()).unwrap();
    let json = serde_json::to_value(&plan).unwrap();
    assert_eq!(json["hosts"][0]["neighbours"][0]["mac"], "02:54:00:02:00:01");
    assert_eq!(json["hosts"][0]["routes"][0]["next_hops"][0]["interface"], "eth1");
    let rails = cluster.rails(tasuki_cluster::HostId(0), tasuki_cluster::HostId(1));
    let json = serde_json::to_value(rails[0].names(&cluster)).unwrap();
    assert_eq!(json["cables"], serde_json::json!([["n1:eth1", "sw1:1"], ["n2:eth1", "sw1:2"]]));
}

/// A NIC's delay counts before its host's, and a host's before the cluster's; NICs without a cable have none.
#[test]
fn interrupt_delays_are_the_nearest_that_is_given() {
    let text = "[tune]\ndelay = \"dynamic\"\nleast = \"10us\"\nmost = \"1ms\"\n[[host]]\nname = \"n1\"\nnic \
                = [{ name = \"eth1\" }, { name = \"eth2\", delay = \"off\" }, { name = \"eth3\" \
                }]\n[[host]]\nname = \"n2\"\ndelay = \"50us\"\nnic = [{ name = \"eth1\" }, { name = \
                \"eth2\", delay = \"adaptive\" }]\n[[cable]]\nends = [\"n1:eth1\", \
                \"n2:eth1\"]\n[[cable]]\nends = [\"n1:eth2\", \"n2:eth2\"]\n";
    let cluster = Cluster::parse(text, None).unwrap();
    let delays = |host: usize| -> Vec<(String, String)> {
        let delays = cluster.delays(HostId(host)).into_iter();
        delays.map(|(nic, delay)| (nic.to_owned(), delay.to_string())).collect()
    };
    let expected = |pairs: [(&str, &str); 2]| pairs.map(|(nic, delay)| (nic.to_owned(), delay.to_owned()));
    assert_eq!(delays(0), expected([("eth1", "dynamic"), ("eth2", "off")]));
    assert_eq!(delays(1), expected([("eth1", "50us"), ("eth2", "adaptive")]));
    let tune = cluster.tune.unwrap();
    assert_eq!((tune.least_us, tune.most_us), (10, 1000));
    assert_eq!(Cluster::parse(&cluster.to_toml(), None).unwrap(), cluster);
    let without = text.replace("[tune]\ndelay = \"dynamic\"\nleast = \"10us\"\nmost = \"1ms\"\n", "");
    let without = Cluster::parse(&without, None).unwrap();
    assert_eq!((without.delays(HostId(0)).len(), without.delays(HostId(1)).len()), (1, 2));
}
