//! Plans that were worked out by hand.

use tasuki_cluster::{
    AddressPlan, Cluster, HostId, HostPlan, LAB_MANAGEMENT, PlanError, StripeSlot, Striping,
    generate::{Options, generate},
};

fn shape(text: &str) -> Cluster {
    generate(&text.parse().unwrap(), &Options::default()).unwrap()
}

/// The routes of a host, one line each, as `ip route` would show them.
fn routes(plan: &AddressPlan, host: usize) -> Vec<String> {
    let routes = plan.hosts[host].routes.iter().map(|route| {
        let hops = route.next_hops.iter().map(|hop| match hop.via {
            Some(via) => format!(" via {via} dev {} weight {}", hop.interface, hop.weight),
            None => format!(" dev {}", hop.interface),
        });
        format!("{} src {}{}", route.destination, route.source, hops.collect::<String>())
    });
    routes.collect()
}

#[test]
fn ring_of_five() {
    // n1 is cabled to n2 (eth1) and n5 (eth2); n2's eth1 and n5's eth2 are the other ends.
    let plan = AddressPlan::new(&shape("ring:5")).unwrap();
    assert_eq!(
        routes(&plan, 0),
        [
            "10.78.2.1 src 10.78.1.1 dev eth1",
            "10.78.5.2 src 10.78.1.2 dev eth2",
            "10.77.0.2 src 10.77.0.1 via 10.78.2.1 dev eth1 weight 1",
            "10.77.0.3 src 10.77.0.1 via 10.78.2.1 dev eth1 weight 1",
            "10.77.0.4 src 10.77.0.1 via 10.78.5.2 dev eth2 weight 1",
            "10.77.0.5 src 10.77.0.1 via 10.78.5.2 dev eth2 weight 1",
        ]
    );
    assert!(plan.hosts.iter().all(HostPlan::relays));
    let forwarding = |host: &HostPlan, nic: &str| {
        let path = format!("net/ipv4/conf/{nic}/forwarding");
        host.sysctls.iter().any(|setting| setting.path == path && setting.value == "1")
    };
    assert!(plan.hosts.iter().all(|host| forwarding(host, "eth1") && forwarding(host, "eth2")));
    // This setting stands for every interface of the machine, including those that the file does not name.
    let whole = |host: &HostPlan| host.sysctls.iter().any(|setting| setting.path.ends_with("ip_forward"));
    assert!(!plan.hosts.iter().any(whole));
}

#[test]
fn ring_of_four_goes_both_ways_round() {
    let plan = AddressPlan::new(&shape("ring:4")).unwrap();
    let opposite = "10.77.0.3 src 10.77.0.1 via 10.78.2.1 dev eth1 weight 1 via 10.78.4.2 dev eth2 weight 1";
    assert!(routes(&plan, 0).contains(&opposite.to_owned()), "{:?}", routes(&plan, 0));
}

#[test]
fn full_cross_connection_of_four() {
    let plan = AddressPlan::new(&shape("full:4")).unwrap();
    assert_eq!(
        routes(&plan, 2),
        [
            "10.78.1.2 src 10.78.3.1 dev eth1",
            "10.78.2.2 src 10.78.3.2 dev eth2",
            "10.78.4.3 src 10.78.3.3 dev eth3",
            "10.77.0.1 src 10.77.0.3 via 10.78.1.2 dev eth1 weight 1",
            "10.77.0.2 src 10.77.0.3 via 10.78.2.2 dev eth2 weight 1",
            "10.77.0.4 src 10.77.0.3 via 10.78.4.3 dev eth3 weight 1",
        ]
    );
    assert!(!plan.hosts.iter().any(HostPlan::relays), "nobody relays");
}

#[test]
fn nics_of_unequal_number_share_one_switch() {
    // Three NICs and two: eth1-eth1, eth2-eth2, eth3-eth1. The NIC that is in two rails gives half of its
    // rate to each.
    let text = r#"
        [[host]]
        name = "a"
        nic = [{ name = "eth1" }, { name = "eth2" }, { name = "eth3" }]
        [[host]]
        name = "b"
        nic = [{ name = "eth1" }, { name = "eth2" }]
        [[switch]]
        name = "sw"
        ports = 5
        [[cable]]
        ends = ["a:eth1", "sw"]
        [[cable]]
        ends = ["a:eth2", "sw"]
        [[cable]]
        ends = ["a:eth3", "sw"]
        [[cable]]
        ends = ["b:eth1", "sw"]
        [[cable]]
        ends = ["b:eth2", "sw"]
    "#;
    let plan = AddressPlan::new(&Cluster::parse(text, None).unwrap()).unwrap();
    assert_eq!(
        routes(&plan, 0),
        [
            "10.78.2.1 src 10.78.1.1 dev eth1",
            "10.78.2.2 src 10.78.1.2 dev eth2",
            "10.77.0.2 src 10.77.0.1 via 10.78.2.1 dev eth1 weight 1 via 10.78.2.2 dev eth2 weight 2 \
             via 10.78.2.1 dev eth3 weight 1",
        ]
    );
    assert_eq!(
        routes(&plan, 1),
        [
            "10.78.1.1 src 10.78.2.1 dev eth1",
            "10.78.1.2 src 10.78.2.2 dev eth2",
            "10.78.1.3 src 10.78.2.1 dev eth1",
            "10.77.0.1 src 10.77.0.2 via 10.78.1.1 dev eth1 weight 1 via 10.78.1.2 dev eth2 weight 2 \
             via 10.78.1.3 dev eth1 weight 1",
        ]
    );
}

#[test]
fn rails_weigh_as_their_rates() {
    let mut cluster = shape("pair:3");
    cluster.hosts[0].nics[1].rate = "2.5G".parse().unwrap();
    cluster.hosts[1].nics[1].rate = "2.5G".parse().unwrap();
    // A rail is not fast because one of its ends is.
    cluster.hosts[0].nics[2].rate = "10G".parse().unwrap();
    let plan = AddressPlan::new(&cluster).unwrap();
    let weights: Vec<_> = plan.hosts[0].routes[3].next_hops.iter().map(|hop| hop.weight).collect();
    assert_eq!(weights, [2, 5, 2]);
}

#[test]
fn settings_of_a_relay_in_order() {
    let plan = AddressPlan::new(&shape("ring:4")).unwrap();
    let settings: Vec<_> =
        plan.hosts[0].sysctls.iter().map(|set| format!("{}={}", set.path, set.value)).collect();
    let conf = |interface: &str, name: &str, value: u8| format!("net/ipv4/conf/{interface}/{name}={value}");
    for interface in ["eth1", "eth2"] {
        for (name, value) in [
            ("forwarding", 1),
            ("rp_filter", 0),
            ("arp_ignore", 1),
            ("arp_announce", 2),
            ("ignore_routes_with_linkdown", 1),
            ("send_redirects", 0),
            ("accept_redirects", 0),
        ] {
            assert!(settings.contains(&conf(interface, name, value)), "{interface}/{name} is missing");
        }
    }
    assert!(settings.contains(&conf("all", "rp_filter", 0)), "the kernel takes the higher of all and eth1");
    assert!(settings.contains(&"net/ipv4/fib_multipath_hash_policy=1".to_owned()));
}

#[test]
fn small_ranges_are_numbered_through() {
    let mut cluster = shape("full:3");
    // Six NICs in a /29, which has six usable addresses.
    cluster.addressing.link = "10.1.0.0/29".parse().unwrap();
    cluster.addressing.identity = "10.2.0.0/29".parse().unwrap();
    let plan = AddressPlan::new(&cluster).unwrap();
    let links: Vec<_> =
        plan.hosts.iter().flat_map(|host| &host.links).map(|link| link.address.to_string()).collect();
    assert_eq!(links, ["10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5", "10.1.0.6"]);
    cluster.addressing.link = "10.1.0.0/30".parse().unwrap();
    assert!(matches!(AddressPlan::new(&cluster), Err(PlanError::TooManyNics { nics: 6, room: 2, .. })));
}

#[test]
fn hosts_file_and_management_addresses() {
    let cluster = shape("star:3");
    let hosts = AddressPlan::new(&cluster).unwrap().etc_hosts(&cluster, HostId(1));
    let fields: Vec<Vec<_>> = hosts.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let expected =
        [["127.0.0.1", "localhost"], ["10.77.0.1", "n1"], ["10.77.0.2", "n2"], ["10.77.0.3", "n3"]];
    assert_eq!(fields, expected);
    assert_eq!(cluster.lab_management(HostId(0)).to_string(), "198.18.0.1");
    assert_eq!(cluster.lab_management(HostId(255)).to_string(), "198.18.1.0");
    assert!(LAB_MANAGEMENT.contains(cluster.lab_management(HostId(usize::MAX - 1))));
}

#[test]
fn lab_macs_keep_clear_of_given_ones() {
    let mut cluster = shape("full:3");
    cluster.hosts[2].nics[1].mac = Some("02:54:00:01:00:01".parse().unwrap());
    let cluster = cluster.with_lab_macs();
    let macs: Vec<_> =
        cluster.hosts.iter().flat_map(|host| &host.nics).map(|nic| nic.mac.unwrap().to_string()).collect();
    assert_eq!(
        macs,
        [
            "02:54:00:01:00:02",
            "02:54:00:01:00:03",
            "02:54:00:02:00:01",
            "02:54:00:02:00:02",
            "02:54:00:03:00:01",
            "02:54:00:01:00:01",
        ]
    );
}

/// The paper's table 1: receiver, number of the own NIC, address of the NIC of the receiver that goes with
/// it.
#[test]
fn destination_table() {
    let mut cluster = shape("planes:3x2").with_lab_macs();
    cluster.striping = Some(Striping { except: vec!["n3".into()], ..Striping::default() });
    let plan = AddressPlan::new(&cluster).unwrap();
    let table = |host: usize| {
        let striping = plan.hosts[host].striping.as_ref().unwrap();
        let peers = striping.peers.iter().flat_map(|peer| {
            let line = |slot: &StripeSlot| {
                let own = &striping.nics[slot.nic].interface;
                format!("{} {own} {} {}", peer.identity, slot.remote, slot.mac.unwrap())
            };
            peer.slots.iter().map(line).collect::<Vec<_>>()
        });
        peers.collect::<Vec<_>>()
    };
    let mac = |host: usize, nic: usize| cluster.hosts[host].nics[nic].mac.unwrap();
    assert_eq!(
        table(1),
        [
            format!("10.77.0.1 eth1 10.78.1.1 {}", mac(0, 0)),
            format!("10.77.0.1 eth2 10.78.1.2 {}", mac(0, 1)),
            format!("10.77.0.3 eth1 10.78.3.1 {}", mac(2, 0)),
            format!("10.77.0.3 eth2 10.78.3.2 {}", mac(2, 1)),
        ]
    );
    assert!(plan.hosts[2].striping.is_none());
    // 20 frames of 1538 bytes on the wire take 246 us at 1 Gbit/s.
    let granularity =
        |plan: &AddressPlan, host: usize| plan.hosts[host].striping.as_ref().unwrap().granularity;
    assert_eq!(granularity(&plan, 0), 20);
    cluster.striping = Some(Striping { granularity: Some(7), ..Striping::default() });
    assert_eq!(granularity(&AddressPlan::new(&cluster).unwrap(), 0), 7);
    // There is only one cable between any two hosts, so there is nothing to stripe over.
    let mut single = shape("full:3");
    single.striping = Some(Striping::default());
    assert!(AddressPlan::new(&single).unwrap().hosts.iter().all(|host| host.striping.is_none()));
}
