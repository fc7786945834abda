//! Checks of the parts of a file against each other.

use super::{
    document::Document,
    problem::Problem,
    report::{Findings, Span},
};
use crate::{
    AddressPlan, AddressStyle, Delay, DelayWish, End, HostId, NicId, PlanError, SwitchId, fabric::Fabric,
    names::nearest, plan,
};
use std::collections::{BTreeMap, BTreeSet};

/// Checks that names are unique among hosts and switches (DNS ignores case), and names of NICs within their
/// host.
pub(super) fn names(document: &Document, findings: &Findings) {
    let (cluster, marks) = (&document.cluster, &document.marks);
    let hosts = cluster.hosts.iter().zip(&marks.hosts).map(|(host, marks)| ("host", &host.name, &marks.name));
    let switches =
        cluster.switches.iter().zip(&marks.switches).map(|(switch, span)| ("switch", &switch.name, span));
    let mut first: BTreeMap<String, Span> = BTreeMap::new();
    for (of, name, span) in hosts.chain(switches).filter(|(_, name, _)| !name.is_empty()) {
        let problem = Problem::DuplicateName { name: name.clone() };
        note_repeated(&mut first, name.to_ascii_lowercase(), span, findings, &format!("{of}.name"), problem);
    }
    for (host, marks) in cluster.hosts.iter().zip(&marks.hosts) {
        let mut first = BTreeMap::new();
        let named = host.nics.iter().zip(&marks.nics).filter(|(nic, _)| !nic.name.is_empty());
        for (nic, marks) in named {
            let problem = Problem::DuplicateNic { host: host.name.clone(), nic: nic.name.clone() };
            note_repeated(&mut first, nic.name.clone(), &marks.name, findings, "host.nic.name", problem);
        }
    }
}

/// Reports a name that was used before, with the place of the first use.
fn note_repeated(
    first: &mut BTreeMap<String, Span>,
    name: String,
    span: &Span,
    findings: &Findings,
    key: &str,
    problem: Problem,
) {
    match first.get(&name) {
        Some(first) => {
            let note = (first.clone(), "the first of that name".into());
            findings.add_with_notes(span.clone(), key, problem, vec![note]);
        }
        None => {
            first.insert(name, span.clone());
        }
    }
}

/// Checks that MAC addresses are unique.
pub(super) fn macs(document: &Document, findings: &Findings) {
    let cluster = &document.cluster;
    let mut first = BTreeMap::new();
    for id in cluster.nics() {
        let Some(mac) = cluster.nic_of(id).mac else { continue };
        let span = &document.marks.hosts[id.host.0].nics[id.index].mac;
        let Some((other, other_span)) = first.get(&mac) else {
            first.insert(mac, (id, span));
            continue;
        };
        let (nic, other) = (cluster.nic_name(id), cluster.nic_name(*other));
        let note = (Span::clone(other_span), format!("of {other}"));
        let problem = Problem::DuplicateMac { nic, mac, other };
        findings.add_with_notes(span.clone(), "host.nic.mac", problem, vec![note]);
    }
}

/// Checks that all NICs of a segment have one MTU: a frame that is longer than the receiver's MTU is lost
/// silently.
pub(super) fn mtus(document: &Document, findings: &Findings) {
    let cluster = &document.cluster;
    for nics in &Fabric::new(cluster).segments {
        let Some(&first) = nics.first() else { continue };
        for &nic in &nics[1..] {
            let (mtu, other_mtu) = (cluster.nic_of(nic).mtu, cluster.nic_of(first).mtu);
            if mtu == other_mtu {
                continue;
            }
            let [marks, first_marks] =
                [nic, first].map(|nic| &document.marks.hosts[nic.host.0].nics[nic.index]);
            let cable = cluster.cable_at(End::Nic(nic));
            let direct = cable.is_some_and(|cable| cluster.cable_of(cable).ends.contains(&End::Nic(first)));
            let mut notes =
                vec![(first_marks.mtu.clone(), format!("MTU {other_mtu} of {}", cluster.nic_name(first)))];
            notes.extend(cable.map(|cable| (document.marks.cables[cable.0].clone(), "the cable".into())));
            let on = if direct { "cable" } else { "switch domain" };
            let (nic, other) = (cluster.nic_name(nic), cluster.nic_name(first));
            let problem = Problem::UnequalMtu { nic, mtu, other, other_mtu, on: on.into() };
            findings.add_with_notes(marks.mtu.clone(), "host.nic.mtu", problem, notes);
        }
    }
}

/// Checks that the bounds in `[tune]` apply to a delay that follows the load, and leave something to choose.
pub(super) fn tune(document: &Document, findings: &Findings) {
    let cluster = &document.cluster;
    let Some((tune, bound)) = cluster.tune.zip(document.marks.tune.clone()) else { return };
    let nics =
        cluster.hosts.iter().flat_map(|host| host.nics.iter().map(|nic| nic.delay).chain([host.delay]));
    if !nics.chain([tune.delay]).any(|delay| delay == Some(DelayWish::Dynamic)) {
        findings.add(bound, "tune", Problem::NothingDynamic);
    } else if tune.least_us >= tune.most_us {
        let [least, most] = [tune.least_us, tune.most_us].map(Delay::from_us);
        findings.add(bound, "tune", Problem::NoDelayBetween { least, most });
    }
}

/// Checks that `[striping]` names what exists, and stripes over NICs of one MTU: TCP makes its segments as
/// long as the NIC of its route allows, whichever NIC they leave by.
pub(super) fn striping(document: &Document, findings: &Findings) {
    let (cluster, marks) = (&document.cluster, &document.marks);
    let Some(striping) = &cluster.striping else { return };
    if cluster.addressing.style == AddressStyle::Subnets {
        return findings.add(marks.striping.clone(), "striping", Problem::StripedSubnets);
    }
    let nics: BTreeSet<&str> =
        cluster.hosts.iter().flat_map(|host| &host.nics).map(|nic| nic.name.as_str()).collect();
    let hosts: BTreeSet<&str> = cluster.hosts.iter().map(|host| host.name.as_str()).collect();
    let named = [
        ("NIC", "striping.nics", &striping.nics, &marks.stripe_nics, nics),
        ("host", "striping.except", &striping.except, &marks.stripe_except, hosts),
    ];
    let mut is_wrong = false;
    for (of, key, names, spans, known) in named {
        for (name, span) in names.iter().zip(spans).filter(|(name, _)| !known.contains(name.as_str())) {
            let near = nearest(name, known.iter().copied()).map(str::to_owned);
            findings.add(span.clone(), key, Problem::NoneOfThatName { of, name: name.clone(), near });
            is_wrong = true;
        }
    }
    let fabric = Fabric::new(cluster);
    let mut is_used = false;
    for (a, b) in (0..cluster.hosts.len()).flat_map(|a| (0..a).map(move |b| (HostId(b), HostId(a)))) {
        let pairs = plan::striped_pairs(cluster, fabric.pairs(a, b));
        is_used |= pairs.len() > 1;
        let mtu = |pair: &[NicId; 2]| cluster.nic_of(pair[0]).mtu;
        let Some(first) = pairs.first() else { continue };
        let Some(other) = pairs.iter().find(|pair| mtu(pair) != mtu(first)) else { continue };
        let [nic, other_nic] = [other, first].map(|pair| cluster.nic_of(pair[0]).name.clone());
        let problem = Problem::StripedMtu {
            host: cluster.host_of(a).name.clone(),
            peer: cluster.host_of(b).name.clone(),
            nic,
            mtu: mtu(other),
            other: other_nic,
            other_mtu: mtu(first),
        };
        findings.add(marks.striping.clone(), "striping", problem);
        is_wrong = true;
    }
    if !is_used && !is_wrong {
        let among = if striping.nics.is_empty() { "" } else { " by the NICs listed" };
        findings.add(marks.striping.clone(), "striping", Problem::NothingToStripe(among));
    }
}

/// Checks that cables between switches make no loops.
pub(super) fn loops(document: &Document, findings: &Findings) {
    let cluster = &document.cluster;
    // The cables before this one, which make no loop: from each switch to its neighbours.
    let mut tree: Vec<Vec<SwitchId>> = vec![Vec::new(); cluster.switches.len()];
    for (cable, span) in cluster.cables.iter().zip(&document.marks.cables) {
        let [End::Port { switch: a, .. }, End::Port { switch: b, .. }] = cable.ends else { continue };
        match path(&tree, a, b) {
            Some(mut path) => {
                path.push(a);
                let path = path.into_iter().map(|switch| cluster.switch_of(switch).name.clone()).collect();
                findings.add(span.clone(), "cable.ends", Problem::Loop { path });
            }
            None => {
                tree[a.0].push(b);
                tree[b.0].push(a);
            }
        }
    }
}

/// The path from `a` to `b` through a forest.
fn path(tree: &[Vec<SwitchId>], a: SwitchId, b: SwitchId) -> Option<Vec<SwitchId>> {
    let mut came_from = vec![None; tree.len()];
    let mut queue = vec![a];
    came_from[a.0] = Some(a);
    while let Some(switch) = queue.pop() {
        for &next in &tree[switch.0] {
            if came_from[next.0].is_none() {
                came_from[next.0] = Some(switch);
                queue.push(next);
            }
        }
    }
    let mut path = vec![b];
    let mut here = b;
    while here != a {
        here = came_from[here.0]?;
        path.push(here);
    }
    path.reverse();
    Some(path)
}

/// Checks that address ranges have room and do not overlap.
pub(super) fn addresses(document: &Document, findings: &Findings) {
    let (cluster, marks) = (&document.cluster, &document.marks);
    let mut note = |error: PlanError| {
        let (span, key) = match &error {
            PlanError::TooManyHosts { .. } => (&marks.identity, "cluster.identity"),
            PlanError::Overlap { first: "identity", second, .. } if *second != "link range" => {
                (&marks.identity, "cluster.identity")
            }
            _ => (&marks.link, "cluster.link"),
        };
        findings.add(span.clone(), key, Problem::Addresses(error));
    };
    let checks = [plan::check_hosts(cluster), plan::check_nics(cluster)];
    checks.into_iter().filter_map(Result::err).for_each(&mut note);
    plan::overlaps(cluster).into_iter().for_each(note);
}

/// Checks that with one subnet per cable every host reaches every other, and that there is room.
pub(super) fn subnets(document: &Document, findings: &Findings) {
    let marks = &document.marks;
    if document.cluster.addressing.style != AddressStyle::Subnets {
        return;
    }
    if let Err(error) = AddressPlan::new(&document.cluster) {
        let (span, key) = match &error {
            PlanError::TooManySubnets { .. } => (&marks.link, "cluster.link"),
            _ => (&marks.addresses, "cluster.addresses"),
        };
        findings.add(span.clone(), key, Problem::Addresses(error));
    }
}

/// Checks that every host reaches every other. Each host that some earlier host does not reach is reported
/// once.
pub(super) fn reachability(document: &Document, findings: &Findings) {
    let cluster = &document.cluster;
    let fabric = Fabric::new(cluster);
    for host in (1..cluster.hosts.len()).map(HostId) {
        let hops = fabric.hops_to(host);
        let cut_off: Vec<_> = (0..host.0).filter(|&other| hops[other].is_none()).collect();
        let Some(&first) = cut_off.first() else { continue };
        let from = match cut_off.len() - 1 {
            0 => cluster.hosts[first].name.clone(),
            others => format!("{} and {others} more", cluster.hosts[first].name),
        };
        let name = cluster.host_of(host).name.clone();
        let advice = advice(&fabric, host, HostId(first));
        let span = document.marks.hosts[host.0].name.clone();
        findings.add(span, "host", Problem::Unreachable { host: name, from, advice });
    }
}

/// The advice how two hosts could be joined.
fn advice(fabric: &Fabric<'_>, host: HostId, from: HostId) -> String {
    let cluster = fabric.cluster;
    for id in [host, from] {
        if fabric.by_host[id.0].is_empty() {
            return format!("no cable leads to {}: add a [[cable]]", cluster.host_of(id).name);
        }
    }
    let mut relaying = cluster.clone();
    relaying.hosts.iter_mut().for_each(|host| host.relay = true);
    if Fabric::new(&relaying).hops_to(host)[from.0].is_none() {
        return "join the two parts by a cable or a switch".into();
    }
    let barred = cluster.hosts.iter().filter(|host| !host.relay).map(|host| host.name.as_str());
    format!(
        "a way leads through hosts with relay = false ({}): let them relay, or add a cable",
        barred.collect::<Vec<_>>().join(", ")
    )
}
