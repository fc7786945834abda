//! One subnet per cable: plans that were worked out by hand, and clusters that cannot be addressed so.

use std::collections::BTreeSet;
use tasuki_cluster::{
    AddressPlan, AddressStyle, Cluster, HostPlan, Ipv4Net, PlanError,
    generate::{Options, generate},
};

fn shape(text: &str) -> Cluster {
    let mut cluster = generate(&text.parse().unwrap(), &Options::default()).unwrap();
    cluster.addressing.style = AddressStyle::Subnets;
    cluster
}

fn links(host: &HostPlan) -> Vec<String> {
    host.links.iter().map(|link| format!("{} {}/{}", link.interface, link.address, link.prefix)).collect()
}

#[test]
fn full_cross_connection_of_three() {
    let cluster = shape("full:3");
    let plan = AddressPlan::new(&cluster).unwrap();
    // Cables in the order of the file: n1-n2, n1-n3, n2-n3.
    assert_eq!(links(&plan.hosts[0]), ["eth1 10.78.0.1/30", "eth2 10.78.0.5/30"]);
    assert_eq!(links(&plan.hosts[1]), ["eth1 10.78.0.2/30", "eth2 10.78.0.9/30"]);
    assert_eq!(links(&plan.hosts[2]), ["eth1 10.78.0.6/30", "eth2 10.78.0.10/30"]);
    // A name stands for the other end of the cable that a host has to it.
    let names = |host: usize| plan.hosts[host].peers.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(0), ["10.78.0.1", "10.78.0.2", "10.78.0.6"]);
    assert_eq!(names(1), ["10.78.0.1", "10.78.0.2", "10.78.0.10"]);
    assert_eq!(names(2), ["10.78.0.5", "10.78.0.9", "10.78.0.6"]);
    for host in &plan.hosts {
        assert!(host.routes.is_empty() && !host.relays() && !host.has_identity_interface());
        let set: Vec<_> = host.sysctls.iter().map(|set| format!("{}={}", set.path, set.value)).collect();
        assert_eq!(set, ["net/ipv4/conf/eth1/forwarding=0", "net/ipv4/conf/eth2/forwarding=0"]);
    }
}

#[test]
fn every_subnet_is_one_cable_or_switch() {
    for text in ["full:8", "star:5", "planes:4x3", "mixed:6/3", "pair:3"] {
        let cluster = shape(text);
        let plan = AddressPlan::new(&cluster).unwrap();
        let all: Vec<_> = plan.hosts.iter().flat_map(|host| &host.links).collect();
        let addresses: BTreeSet<_> = all.iter().map(|link| link.address).collect();
        assert_eq!(addresses.len(), all.len(), "{text}: an address twice");
        let nets: BTreeSet<_> = all.iter().map(|link| Ipv4Net::around(link.address, link.prefix)).collect();
        for (number, net) in nets.iter().enumerate() {
            assert!(nets.iter().skip(number + 1).all(|other| !net.overlaps(*other)), "{text}");
        }
        for host in &plan.hosts {
            let own: BTreeSet<_> =
                host.links.iter().map(|link| Ipv4Net::around(link.address, link.prefix)).collect();
            assert_eq!(own.len(), host.links.len(), "{text}: two NICs of {} in one subnet", host.host);
            // The address that a name stands for is always in a subnet of the host's own.
            assert!(host.peers.iter().all(|peer| own.iter().any(|net| net.contains(*peer))), "{text}");
        }
    }
    // Five NICs need a /29.
    let star = AddressPlan::new(&shape("star:5")).unwrap();
    assert_eq!(links(&star.hosts[4]), ["eth1 10.78.0.5/29"]);
}

#[test]
fn what_cannot_be_is_said() {
    let error = |cluster: &Cluster| AddressPlan::new(cluster).unwrap_err();
    assert!(matches!(
        error(&shape("ring:4")),
        PlanError::NoCommonSubnet { from, to } if from == "n1" && to == "n3"
    ));
    let text = shape("ring:4").to_toml();
    let report = Cluster::parse(&text, None).unwrap_err().to_string();
    assert!(report.contains("cluster.addresses") && report.contains("n1 cannot reach n3"), "{report}");

    let mut cluster = shape("full:4");
    cluster.addressing.link = "10.78.0.0/28".parse().unwrap();
    assert!(matches!(error(&cluster), PlanError::TooManySubnets { subnets: 6, room: 4, .. }));
    let report = Cluster::parse(&cluster.to_toml(), None).unwrap_err().to_string();
    assert!(report.contains("cluster.link"), "{report}");

    let two = "[cluster]\naddresses = \"subnets\"\n[[host]]\nname = \"n1\"\nnic = [{ name = \"eth1\" }, { \
               name = \"eth2\" }]\n[[host]]\nname = \"n2\"\nnic = [{ name = \"eth1\" }]\n[[switch]]\nname = \
               \"sw\"\nports = 3\n[[cable]]\nends = [\"n1:eth1\", \"sw\"]\n[[cable]]\nends = [\"n1:eth2\", \
               \"sw\"]\n[[cable]]\nends = [\"n2:eth1\", \"sw\"]\n";
    let report = Cluster::parse(two, None).unwrap_err().to_string();
    assert!(report.contains("n1:eth1 and n1:eth2 would be in one subnet"), "{report}");
    let report = Cluster::parse(&two.replace("subnets", "cables"), None).unwrap_err().to_string();
    assert!(report.contains("\"cables\" is no style of addresses"), "{report}");
}

#[test]
fn files_say_it_and_read_back() {
    let cluster = shape("full:4");
    let text = cluster.to_toml();
    assert!(text.contains("\naddresses = \"subnets\"\n") && !text.contains("identity ="), "{text}");
    assert_eq!(Cluster::parse(&text, None).unwrap().addressing, cluster.addressing);
}
