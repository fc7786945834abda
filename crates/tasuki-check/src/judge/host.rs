//! Judges the settings of hosts against the plan, and against those of the other hosts.

use crate::{
    finding::{Finding, Kind, Part},
    protocol::{AddressFacts, Facts},
    statistics::median,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};
use tasuki_cluster::{AddressPlan, Cluster, Delay, DelayWish, Host, HostId, HostPlan};

/// Share of a core that other programs may use without a finding.
const LOAD_MAX: f64 = 0.15;
/// Receive delays below this are not compared, microseconds.
const DELAY_US_MIN: u64 = 100;
/// How many times the delay of the others a receive delay must be to count as an outlier.
const DELAY_RATIO: u64 = 8;

const APPLY: &str = "`tasuki diff` shows what differs from the plan, `tasuki apply` sets it";

/// Judges all hosts.
pub fn judge(cluster: &Cluster, plan: &AddressPlan, facts: &[Option<Facts>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ((host, own), facts) in cluster.hosts.iter().zip(&plan.hosts).zip(facts) {
        let Some(facts) = facts else { continue };
        if is_bare(own, facts) {
            let says = format!("{} is not set up: it has none of the plan's addresses", host.name);
            findings.push(Finding::new(
                1,
                Kind::Address,
                Part::Setting(host.name.clone()),
                says,
                "tasuki apply",
            ));
            continue;
        }
        let wrong = addresses(plan, own, facts, &mut findings);
        mtus(host, facts, &mut findings);
        if wrong.is_empty() {
            settings(own, facts, &mut findings);
        }
        load(&host.name, facts, &mut findings);
        buses(cluster, &host.name, facts, &mut findings);
    }
    routes(cluster, plan, facts, &mut findings);
    delays(cluster, facts, &mut findings);
    speeds(cluster, facts, &mut findings);
    findings
}

fn is_bare(own: &HostPlan, facts: &Facts) -> bool {
    let planned = |address: &Ipv4Addr| {
        own.identity == *address || own.links.iter().any(|link| link.address == *address)
    };
    !facts.addresses.iter().any(|has| planned(&has.address))
}

/// Finds addresses that are missing, or that belong to another host. Returns the interfaces with a wrong one.
fn addresses(
    plan: &AddressPlan,
    own: &HostPlan,
    facts: &Facts,
    findings: &mut Vec<Finding>,
) -> BTreeSet<String> {
    let mut wrong = BTreeSet::new();
    let owner = |address: Ipv4Addr| {
        let of_host = |host: &&HostPlan| {
            host.identity == address || host.links.iter().any(|link| link.address == address)
        };
        let host = plan.hosts.iter().find(of_host)?;
        let link = host.links.iter().find(|link| link.address == address);
        Some(link.map_or(host.host.clone(), |link| format!("{}:{}", host.host, link.interface)))
    };
    let planned = planned_addresses(own);
    let is_planned = |has: &AddressFacts| {
        planned.iter().any(|own| (&own.interface, own.address) == (&has.interface, has.address))
    };
    for has in facts.addresses.iter().filter(|has| !is_planned(has)) {
        let Some(owner) = owner(has.address) else { continue };
        let AddressFacts { interface, address, .. } = has;
        let name = format!("{}:{interface}", own.host);
        let says = format!("{name} has the address {address}, which belongs to {owner}");
        let advice = format!("`ip address del {address} dev {interface}` on {}, or {APPLY}", own.host);
        findings.push(Finding::new(1, Kind::DuplicateAddress, Part::Setting(name), says, advice));
        wrong.insert(interface.clone());
    }
    for own_address in &planned {
        let interface = &own_address.interface;
        if facts.addresses.contains(own_address) || !wrong.insert(interface.clone()) {
            continue;
        }
        let name = format!("{}:{interface}", own.host);
        let on_it = facts.addresses.iter().filter(|has| has.interface == *interface);
        // An address that differs only in its prefix is reported as such.
        let is_it = |has: &AddressFacts| has.address == own_address.address;
        let text = |has: &AddressFacts| if is_it(has) { with_prefix(has) } else { has.address.to_string() };
        let has: Vec<_> = on_it.clone().map(text).collect();
        let has = if has.is_empty() { "no address".to_owned() } else { has.join(", ") };
        let plan =
            if on_it.clone().any(is_it) { with_prefix(own_address) } else { own_address.address.to_string() };
        let says = format!("{name} has {has}, the plan says {plan}");
        findings.push(Finding::new(1, Kind::Address, Part::Setting(name), says, APPLY));
    }
    wrong
}

fn with_prefix(of: &AddressFacts) -> String {
    format!("{}/{}", of.address, of.prefix)
}

/// The addresses of a host's NICs, and its identity address.
fn planned_addresses(own: &HostPlan) -> Vec<AddressFacts> {
    let link = |link: &tasuki_cluster::LinkPlan| AddressFacts {
        interface: link.interface.clone(),
        address: link.address,
        prefix: link.prefix,
    };
    let interface = tasuki_cluster::IDENTITY_INTERFACE.to_owned();
    let identity = AddressFacts { interface, address: own.identity, prefix: 32 };
    own.links.iter().map(link).chain(own.has_identity_interface().then_some(identity)).collect()
}

fn mtus(host: &Host, facts: &Facts, findings: &mut Vec<Finding>) {
    for nic in facts.nics.iter().filter(|nic| nic.exists) {
        let Some(planned) = host.nics.get(nic.index).filter(|planned| planned.mtu != nic.mtu) else {
            continue;
        };
        let name = format!("{}:{}", host.name, planned.name);
        let says = format!("{name} has MTU {}, the plan says {}", nic.mtu, planned.mtu);
        findings.push(
            Finding::new(1, Kind::Mtu, Part::Setting(name), says, APPLY)
                .seen("longer frames are lost without a word"),
        );
    }
}

fn settings(own: &HostPlan, facts: &Facts, findings: &mut Vec<Finding>) {
    let relays = facts.watch.as_ref().is_some_and(|watch| watch.relays);
    for setting in &own.sysctls {
        let Some((_, value)) = facts.settings.iter().find(|(path, _)| *path == setting.path) else {
            continue;
        };
        // Forwarding may be on for containers, or because a watch leads other hosts' packets through this
        // host.
        let is_forwarding = setting.path.ends_with("/forwarding");
        if *value == setting.value || (is_forwarding && setting.value == "0" && (relays || value == "1")) {
            continue;
        }
        let says = format!("{}: {} is {value}, the plan says {}", own.host, setting.path, setting.value);
        findings.push(Finding::new(1, Kind::Setting, Part::Setting(own.host.clone()), says, APPLY));
    }
}

fn load(host: &str, facts: &Facts, findings: &mut Vec<Finding>) {
    let all: f64 = facts.busy.iter().map(|(cores, _)| cores).sum();
    if all < LOAD_MAX {
        return;
    }
    let says = format!("{host}: programs want {all:.2} cores");
    let advice = "end them before you measure or run parallel programs";
    // That is no fault of a part: a desktop's own programs use as much.
    let mut finding = Finding::new(1, Kind::Load, Part::Host(host.into()), says, advice).as_warning();
    for (cores, what) in facts.busy.iter().take(3) {
        finding = finding.seen(format!("{what}: {cores:.2} cores"));
    }
    findings.push(finding);
}

fn buses(cluster: &Cluster, host: &str, facts: &Facts, findings: &mut Vec<Finding>) {
    let Some(id) = cluster.host(host) else { return };
    for (slot, rate, nics) in &facts.buses {
        let of = nics.iter().filter_map(|name| cluster.host_of(id).nics.iter().find(|nic| nic.name == *name));
        let need: u64 = of.map(|nic| nic.rate.bits_per_second / 1_000_000).sum();
        if *rate < need {
            let says = format!("{host}: the PCIe slot {slot} carries {rate} Mbit/s, its NICs need {need}");
            let advice = "put the card into a slot with more lanes, or look whether it sits firmly";
            let part = Part::Nic(format!("{host}:{}", nics.join(",")));
            findings.push(Finding::new(1, Kind::Bus, part, says, advice).as_warning());
        }
    }
}

/// Compares the rates that the two ends of cables have agreed on with the plan.
fn speeds(cluster: &Cluster, facts: &[Option<Facts>], findings: &mut Vec<Finding>) {
    for (host, facts) in cluster.hosts.iter().zip(facts) {
        for nic in facts.iter().flat_map(|facts| &facts.nics) {
            let Some(planned) = host.nics.get(nic.index) else { continue };
            let name = format!("{}:{}", host.name, planned.name);
            let mbits = planned.rate.bits_per_second / 1_000_000;
            if let Some(speed) = nic.speed_mbits.filter(|speed| *speed < mbits && nic.carrier) {
                let says = format!("{name} runs at {speed} Mbit/s, the plan says {mbits}");
                let advice = "a cable with a broken pair, or a port that can do no more: try another cable, \
                              then look at the port";
                let id = cluster.nic(&name);
                let part =
                    id.map_or(Part::Nic(name.clone()), |id| Part::Cable(super::cable_name(cluster, id)));
                findings
                    .push(Finding::new(1, Kind::Slow, part, says, advice).seen("negotiated by the two ends"));
            }
            if nic.duplex.as_deref() == Some("half") && nic.carrier {
                let says = format!("{name} runs at half duplex");
                let advice = "one end is set by hand, the other negotiates: let both negotiate (`ethtool -s \
                              NIC autoneg on`)";
                findings.push(Finding::new(1, Kind::Slow, Part::Setting(name), says, advice));
            }
        }
    }
}

/// Finds hosts whose settings hold received frames back far longer than the cluster file asks for, or, where
/// it asks for nothing, than those of the others. A delay that follows the load may have any length.
fn delays(cluster: &Cluster, facts: &[Option<Facts>], findings: &mut Vec<Finding>) {
    let mut accuse = |host: &Host, delay: u64, usual: String| {
        let says = format!("{} holds received frames back for up to {delay} us, {usual}", host.name);
        let advice = "`ethtool -C NIC rx-usecs 0`; gro_flush_timeout and napi_defer_hard_irqs of \
                      /sys/class/net/NIC to 0";
        let part = Part::Setting(host.name.clone());
        findings.push(Finding::new(1, Kind::Delay, part, says, advice).as_warning());
    };
    let is_outlier = |delay: u64, usual: u64| delay >= DELAY_US_MIN && delay > usual * DELAY_RATIO;
    let mut longest = vec![None; facts.len()];
    for (number, (host, facts)) in cluster.hosts.iter().zip(facts).enumerate() {
        let wishes: BTreeMap<_, _> = cluster.delays(HostId(number)).into_iter().collect();
        for nic in facts.iter().flat_map(|facts| &facts.nics) {
            let (Some(delay), Some(planned)) = (nic.delay_us, host.nics.get(nic.index)) else { continue };
            let asked = match wishes.get(planned.name.as_str()) {
                None => {
                    longest[number] = longest[number].max(Some(delay));
                    continue;
                }
                Some(DelayWish::Dynamic | DelayWish::Set(Delay::Adaptive)) => continue,
                Some(DelayWish::Set(Delay::Off)) => 0,
                Some(DelayWish::Set(Delay::Fixed(us))) => u64::from(*us),
            };
            if is_outlier(delay, asked) {
                accuse(host, delay, format!("the file says {asked} for {}", planned.name));
            }
        }
    }
    for (number, (host, own)) in cluster.hosts.iter().zip(&longest).enumerate() {
        let Some(own) = *own else { continue };
        let others = longest.iter().enumerate().filter(|(other, _)| *other != number);
        // Where no other host tells any, as most drivers without a setting of their own, there is none.
        let usual = median(others.filter_map(|(_, delay)| delay.map(|delay| delay as f64))) as u64;
        if is_outlier(own, usual) {
            accuse(host, own, format!("other hosts for {usual}"));
        }
    }
}

/// Compares routes with the plan, and finds packets that would circle.
fn routes(cluster: &Cluster, plan: &AddressPlan, facts: &[Option<Facts>], findings: &mut Vec<Finding>) {
    let blamed: BTreeSet<String> = findings
        .iter()
        .map(|finding| finding.part.name().split(':').next().unwrap_or_default().to_owned())
        .collect();
    let is_led_around = facts.iter().flatten().any(|facts| {
        facts.watch.as_ref().is_some_and(|watch| !watch.dead.is_empty() || !watch.detours.is_empty())
    });
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (own, facts) in plan.hosts.iter().zip(facts) {
        let Some(facts) = facts else { continue };
        if is_bare(own, facts) {
            continue;
        }
        for route in own.routes.iter().filter(|_| !is_led_around) {
            let planned: BTreeSet<_> =
                route.next_hops.iter().map(|hop| (hop.interface.clone(), hop.via)).collect();
            let found = facts.routes.iter().find(|found| found.destination == route.destination);
            let is = found.map(|found| found.hops.iter().cloned().collect::<BTreeSet<_>>());
            if is.as_ref() != Some(&planned) {
                let to = &cluster.host_of(route.to).name;
                let is = found.map_or("missing".into(), |found| hops(&found.hops));
                let planned: Vec<_> = planned.into_iter().collect();
                let text = format!(
                    "{}: the route to {} ({to}) is {is}, the plan says {}",
                    own.host,
                    route.destination,
                    hops(&planned)
                );
                wrong.entry(own.host.clone()).or_default().push(text);
            }
        }
    }
    let circles = circles(plan, facts);
    for (host, texts) in wrong {
        let in_circle = circles.iter().find(|circle| circle.contains(&host));
        let (kind, says) = match in_circle {
            Some(circle) => (Kind::Loop, format!("packets go in circles: {}", circle.join(" to "))),
            None => (Kind::Route, texts[0].clone()),
        };
        // The kernel removes a route with the address that it prefers, and with its interface, so that has no
        // finding of its own.
        if in_circle.is_none() && blamed.contains(&host) {
            continue;
        }
        let mut finding = Finding::new(1, kind, Part::Setting(host), says, APPLY);
        finding.evidence = texts.into_iter().take(3).collect();
        findings.push(finding);
    }
}

fn hops(hops: &[(String, Option<Ipv4Addr>)]) -> String {
    let one = |(interface, via): &(String, Option<Ipv4Addr>)| match via {
        Some(via) => format!("{via} by {interface}"),
        None => interface.clone(),
    };
    if hops.is_empty() {
        "of another kind".into()
    } else {
        hops.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Circles of hosts that forward packets for some destination to each other.
fn circles(plan: &AddressPlan, facts: &[Option<Facts>]) -> Vec<Vec<String>> {
    let by_link: BTreeMap<Ipv4Addr, usize> = plan
        .hosts
        .iter()
        .enumerate()
        .flat_map(|(number, host)| host.links.iter().map(move |link| (link.address, number)))
        .collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for (to, target) in plan.hosts.iter().enumerate() {
        let next = |host: usize| {
            let route =
                facts[host].as_ref()?.routes.iter().find(|route| route.destination == target.identity)?;
            by_link.get(&route.hops.first()?.1?).copied()
        };
        for from in 0..plan.hosts.len() {
            let mut passed = vec![from];
            while let Some(host) = next(passed[passed.len() - 1]).filter(|&host| host != to) {
                if let Some(at) = passed.iter().position(|&seen| seen == host) {
                    let circle: Vec<_> =
                        passed[at..].iter().map(|&host| plan.hosts[host].host.clone()).collect();
                    let sorted = |circle: &[String]| circle.iter().cloned().collect::<BTreeSet<_>>();
                    if !circles.iter().any(|known| sorted(known) == sorted(&circle)) {
                        circles.push(circle);
                    }
                    break;
                }
                passed.push(host);
            }
        }
    }
    circles
}
