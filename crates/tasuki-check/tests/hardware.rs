//! Findings that only real hardware causes, from facts as its drivers report them: rate, duplex, bus,
//! counters, interrupt delay.

use tasuki_check::{
    AddressFacts, Facts, Finding, Kind, NicFacts, Part,
    judge::{counters::errors, host::judge},
};
use tasuki_cluster::{AddressPlan, Cluster, generate};

fn cluster(shape: &str) -> Cluster {
    generate::generate(&shape.parse().unwrap(), &generate::Options::default()).unwrap()
}

/// Facts of hosts that are as planned, with gigabit NICs in wide slots.
fn healthy(cluster: &Cluster, plan: &AddressPlan) -> Vec<Option<Facts>> {
    let host = |host: &tasuki_cluster::HostPlan| {
        let nic = |(index, link): (usize, &tasuki_cluster::LinkPlan)| NicFacts {
            index,
            exists: true,
            up: true,
            carrier: true,
            mtu: link.mtu,
            speed_mbits: Some(1000),
            duplex: Some("full".into()),
            delay_us: Some(3),
            errors: vec![("rx_crc_errors".into(), 12)],
        };
        let address =
            |interface: &str, address, prefix| AddressFacts { interface: interface.into(), address, prefix };
        let links = host.links.iter().map(|link| address(&link.interface, link.address, link.prefix));
        let identity = host.has_identity_interface();
        let identity = identity.then(|| address(tasuki_cluster::IDENTITY_INTERFACE, host.identity, 32));
        let routes = host.routes.iter().map(|route| tasuki_check::RouteFacts {
            destination: route.destination,
            hops: route.next_hops.iter().map(|hop| (hop.interface.clone(), hop.via)).collect(),
        });
        Some(Facts {
            nics: host.links.iter().enumerate().map(nic).collect(),
            addresses: links.chain(identity).collect(),
            routes: routes.collect(),
            settings: host.sysctls.iter().map(|set| (set.path.clone(), set.value.clone())).collect(),
            buses: vec![(
                "0000:01:00".into(),
                16_000,
                host.links.iter().map(|link| link.interface.clone()).collect(),
            )],
            ..Facts::default()
        })
    };
    assert_eq!(cluster.hosts.len(), plan.hosts.len());
    plan.hosts.iter().map(host).collect()
}

/// The findings after `change` has been made to the facts of n2.
fn found(shape: &str, change: impl Fn(&mut Facts)) -> Vec<Finding> {
    let cluster = cluster(shape);
    let plan = AddressPlan::new(&cluster).unwrap();
    let mut facts = healthy(&cluster, &plan);
    change(facts[1].as_mut().unwrap());
    judge(&cluster, &plan, &facts)
}

fn named(findings: &[Finding]) -> Vec<(Kind, Part, bool)> {
    findings.iter().map(|finding| (finding.kind, finding.part.clone(), finding.warning)).collect()
}

#[test]
fn healthy_hardware_is_not_named() {
    for shape in ["full:4", "ring:4", "star:4", "planes:4x2"] {
        assert_eq!(found(shape, |_| ()), [], "{shape}");
    }
}

/// An address with a shorter or longer prefix belongs to another network: hosts beyond it are not reached, or
/// strangers are.
#[test]
fn an_address_with_another_prefix_is_another_address() {
    let mut cluster = cluster("full:3");
    cluster.addressing.style = tasuki_cluster::AddressStyle::Subnets;
    let plan = AddressPlan::new(&cluster).unwrap();
    let mut facts = healthy(&cluster, &plan);
    assert_eq!(judge(&cluster, &plan, &facts), []);
    facts[1].as_mut().unwrap().addresses[1].prefix = 24;
    let found = judge(&cluster, &plan, &facts);
    assert_eq!(named(&found), [(Kind::Address, Part::Setting("n2:eth2".into()), false)]);
    let address = plan.hosts[1].links[1].address;
    assert_eq!(found[0].says, format!("n2:eth2 has {address}/24, the plan says {address}/30"));
    // With identity addresses a link address stands for one address too: a network would bring a route of its
    // own.
    let wide = self::found("full:3", |facts| facts.addresses[0].prefix = 16);
    assert_eq!(named(&wide), [(Kind::Address, Part::Setting("n2:eth1".into()), false)]);
}

#[test]
fn a_link_that_agreed_on_less_is_its_cable() {
    let found = found("full:3", |facts| facts.nics[1].speed_mbits = Some(100));
    assert_eq!(named(&found), [(Kind::Slow, Part::Cable("n2:eth2 - n3:eth2".into()), false)]);
    assert_eq!(found[0].says, "n2:eth2 runs at 100 Mbit/s, the plan says 1000");
    // Without a carrier there is no rate to agree on; the missing carrier has a finding of its own.
    let dead = |facts: &mut Facts| (facts.nics[1].speed_mbits, facts.nics[1].carrier) = (Some(10), false);
    assert_eq!(named(&self::found("full:3", dead)), []);
    // A rate above the planned one is no fault.
    assert_eq!(named(&self::found("full:3", |facts| facts.nics[1].speed_mbits = Some(2500))), []);
}

#[test]
fn half_duplex_is_a_setting() {
    let found = found("full:3", |facts| facts.nics[0].duplex = Some("half".into()));
    assert_eq!(named(&found), [(Kind::Slow, Part::Setting("n2:eth1".into()), false)]);
    assert!(found[0].advice.contains("autoneg"));
}

#[test]
fn a_bus_must_carry_the_sum_of_its_nics() {
    let narrow = |mbits| move |facts: &mut Facts| facts.buses[0].1 = mbits;
    // Two gigabit NICs just fit on one lane of the first generation; three do not.
    assert_eq!(named(&found("full:3", narrow(2000))), []);
    let found = found("full:4", narrow(2000));
    assert_eq!(named(&found), [(Kind::Bus, Part::Nic("n2:eth1,eth2,eth3".into()), true)]);
    assert!(found[0].says.contains("carries 2000 Mbit/s, its NICs need 3000"), "{}", found[0].says);
}

#[test]
fn interrupt_delay_is_compared_with_the_others() {
    let delay = |us| move |facts: &mut Facts| facts.nics[0].delay_us = Some(us);
    assert_eq!(named(&found("full:4", delay(500))), [(Kind::Delay, Part::Setting("n2".into()), true)]);
    // Eight times 3 us, which is the usual delay here, is too short to be compared.
    assert_eq!(named(&found("full:4", delay(60))), []);
}

#[test]
fn interrupt_delay_that_the_file_asks_for_is_held_against_the_file() {
    let with = |wish: &str, us: u64| {
        let mut cluster = cluster("full:4");
        cluster.hosts[1].nics[0].delay = Some(wish.parse().unwrap());
        let plan = AddressPlan::new(&cluster).unwrap();
        let mut facts = healthy(&cluster, &plan);
        facts[1].as_mut().unwrap().nics[0].delay_us = Some(us);
        judge(&cluster, &plan, &facts)
    };
    for (wish, us) in [("500us", 500), ("1ms", 100), ("dynamic", 800), ("adaptive", 800), ("off", 60)] {
        assert_eq!(named(&with(wish, us)), [], "{wish}");
    }
    for (wish, us) in [("off", 500), ("20us", 500)] {
        assert_eq!(named(&with(wish, us)), [(Kind::Delay, Part::Setting("n2".into()), true)], "{wish}");
    }
    assert!(with("20us", 500)[0].says.contains("the file says 20 for eth1"));
}

#[test]
fn interrupt_delay_that_no_other_host_has_is_found() {
    let cluster = cluster("full:3");
    let plan = AddressPlan::new(&cluster).unwrap();
    let mut facts = healthy(&cluster, &plan);
    for (number, facts) in facts.iter_mut().flatten().enumerate() {
        facts.nics.iter_mut().for_each(|nic| nic.delay_us = (number == 1).then_some(500));
    }
    assert_eq!(named(&judge(&cluster, &plan, &facts)), [(Kind::Delay, Part::Setting("n2".into()), true)]);
}

#[test]
fn programs_that_use_the_processor_are_a_warning() {
    let found = found("full:3", |facts| facts.busy = vec![(0.2, "editor (process 7)".into())]);
    assert_eq!(named(&found), [(Kind::Load, Part::Host("n2".into()), true)]);
}

#[test]
fn a_counter_that_grows_accuses_what_it_counts() {
    let cluster = cluster("full:3");
    let plan = AddressPlan::new(&cluster).unwrap();
    let before = healthy(&cluster, &plan);
    assert_eq!(errors(&cluster, &before, &before, 10.0, 0.0), []);
    let grown = |counter: &str, per_hour: f64| {
        let mut after = before.clone();
        let nic = &mut after[2].as_mut().unwrap().nics[1];
        nic.errors.retain(|(name, _)| name != counter);
        nic.errors.push((counter.into(), 15));
        named(&errors(&cluster, &before, &after, 10.0, per_hour))
    };
    let cable = || Part::Cable("n2:eth2 - n3:eth2".into());
    let setting = || Part::Setting("n3:eth2".into());
    assert_eq!(grown("rx_crc_errors", 0.0), [(Kind::Errors, cable(), false)]);
    assert_eq!(grown("tx_carrier_errors", 0.0), [(Kind::Errors, cable(), false)]);
    // A host that is busy loses frames that arrived undamaged.
    assert_eq!(grown("rx_missed_errors", 0.0), [(Kind::Errors, setting(), true)]);
    assert_eq!(grown("rx_length_errors", 0.0), [(Kind::Errors, setting(), false)]);
    assert_eq!(grown("collisions", 0.0), [(Kind::Errors, setting(), false)]);
    // Three in ten seconds are 1080 an hour.
    assert_eq!(grown("rx_crc_errors", 1080.0), []);
    assert_eq!(grown("rx_crc_errors", 1079.0), [(Kind::Errors, cable(), false)]);
}
