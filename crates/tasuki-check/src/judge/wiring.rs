//! Judges the wiring: which NIC is at the other end of each cable.

use super::{Segments, cable_name, nic_of, port_of};
use crate::{
    finding::{Finding, Kind, Part},
    protocol::{Facts, Tally},
};
use std::collections::{BTreeMap, BTreeSet};
use tasuki_cluster::{Cluster, NicId};

/// What the hellos have shown.
pub struct Wiring {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Directions in which frames of the planned sender arrive.
    pub live: BTreeSet<[NicId; 2]>,
}

/// Compares what every NIC of the cluster hears with the plan. `facts` and `tallies` are in the order of the
/// hosts; those of hosts that could not be asked are `None`.
pub fn judge(
    cluster: &Cluster,
    segments: &Segments,
    facts: &[Option<Facts>],
    tallies: &[Vec<Tally>],
) -> Wiring {
    let mut wiring = Wiring { findings: Vec::new(), live: BTreeSet::new() };
    let mut heard: BTreeMap<NicId, Vec<(Option<NicId>, String)>> = BTreeMap::new();
    for (host, tallies) in tallies.iter().enumerate() {
        for tally in tallies {
            let own = NicId { host: tasuki_cluster::HostId(host), index: tally.nic };
            for one in &tally.heard {
                let sender = if one.is_ours { nic_of(cluster, one.sender) } else { None };
                heard.entry(own).or_default().push((sender, one.name.clone()));
                if let Some(sender) = sender.filter(|sender| segments.hearers[&own].contains(sender)) {
                    wiring.live.insert([sender, own]);
                }
            }
        }
    }
    let mut wrong: BTreeSet<NicId> = BTreeSet::new();
    for (&nic, expected) in &segments.hearers {
        if let Some(finding) = interface(cluster, nic, facts) {
            wiring.findings.push(finding);
            wrong.insert(nic);
            continue;
        }
        let strangers: Vec<_> = heard
            .get(&nic)
            .into_iter()
            .flatten()
            .filter(|(sender, _)| sender.is_none_or(|sender| !expected.contains(&sender)))
            .collect();
        if !strangers.is_empty() {
            wiring.findings.push(miswired(cluster, nic, expected, &strangers));
            wrong.insert(nic);
        }
    }
    silent(cluster, segments, facts, &wrong, &mut wiring);
    wiring
}

fn fact(facts: &[Option<Facts>], nic: NicId) -> Option<&crate::protocol::NicFacts> {
    facts.get(nic.host.0)?.as_ref()?.nics.iter().find(|fact| fact.index == nic.index)
}

fn interface(cluster: &Cluster, nic: NicId, facts: &[Option<Facts>]) -> Option<Finding> {
    let fact = fact(facts, nic)?;
    let name = cluster.nic_name(nic);
    if !fact.exists {
        let says = format!("{name} does not exist: the host has no such interface");
        return Some(Finding::new(
            1,
            Kind::Interface,
            Part::Nic(name),
            says,
            "look for the NIC's name with `ip link`, or whether its driver is loaded and the card sits \
             firmly",
        ));
    }
    if !fact.up {
        let says = format!("{name} is down");
        return Some(Finding::new(
            1,
            Kind::Interface,
            Part::Setting(name),
            says,
            "`tasuki apply`, or `ip link set NIC up`",
        ));
    }
    None
}

fn miswired(
    cluster: &Cluster,
    nic: NicId,
    expected: &[NicId],
    strangers: &[&(Option<NicId>, String)],
) -> Finding {
    let name = cluster.nic_name(nic);
    let others: BTreeSet<&str> = strangers.iter().map(|(_, name)| name.as_str()).collect();
    let others = others.into_iter().take(4).collect::<Vec<_>>().join(", ");
    let plan = match port_of(cluster, nic) {
        Some(port) => format!("the switch port {port}, with {} others", expected.len()),
        None => expected.iter().map(|&nic| cluster.nic_name(nic)).collect::<Vec<_>>().join(", "),
    };
    let says = format!("{name} is plugged into {others}, the plan says {plan}");
    let advice = "plug the cable in where the plan has it, or write into the cluster file where it is";
    Finding::new(1, Kind::Miswired, Part::Nic(name), says, advice)
        .seen(format!("probe frames of {others} came in"))
}

/// Finds directions in which nothing arrives although no other NIC is at the other end.
fn silent(
    cluster: &Cluster,
    segments: &Segments,
    facts: &[Option<Facts>],
    wrong: &BTreeSet<NicId>,
    wiring: &mut Wiring,
) {
    let is_known = |nic: NicId| fact(facts, nic).is_some();
    let directions = segments.directions().into_iter();
    let dead: Vec<_> = directions
        .filter(|direction| !wiring.live.contains(direction))
        .filter(|[from, to]| is_known(*from) && is_known(*to) && !wrong.contains(from) && !wrong.contains(to))
        .collect();
    let mut by_cable: BTreeMap<String, (NicId, Vec<(NicId, bool)>)> = BTreeMap::new();
    for (nic, outwards, _) in super::blame(segments, &dead) {
        let entry = by_cable.entry(cable_name(cluster, nic)).or_insert((nic, Vec::new()));
        entry.1.push((nic, outwards));
    }
    for (cable, (nic, sides)) in by_cable {
        let cluster_cable = cluster.cable_at(tasuki_cluster::End::Nic(nic));
        let ends = cluster_cable.map(|cable| cluster.cable_of(cable).ends);
        let nics = ends.into_iter().flatten().filter_map(|end| match end {
            tasuki_cluster::End::Nic(nic) => Some(nic),
            tasuki_cluster::End::Port { .. } => None,
        });
        let carriers: Vec<_> = nics.filter_map(|nic| Some((nic, fact(facts, nic)?.carrier))).collect();
        let none = carriers.iter().all(|(_, carrier)| !carrier);
        let one_way = sides.len() == 1;
        let says = match (none, one_way) {
            (true, _) => format!("nothing passes: no carrier on the cable {cable}"),
            (_, true) => {
                let (nic, outwards) = sides[0];
                let direction = if outwards { "from" } else { "to" };
                format!(
                    "nothing passes {direction} {}, the other direction of the cable {cable} is well",
                    cluster.nic_name(nic)
                )
            }
            _ => format!("nothing passes on the cable {cable} although the carrier is up"),
        };
        let advice = if none {
            "is it plugged in at both ends? Try another cable, then another port"
        } else {
            "try another cable; if it is the same then, the NIC or switch port that does not send is at fault"
        };
        let mut finding = Finding::new(1, Kind::Dead, Part::Cable(cable), says, advice);
        for (nic, carrier) in carriers {
            finding = finding.seen(format!(
                "{}: carrier {}",
                cluster.nic_name(nic),
                if carrier { "on" } else { "off" }
            ));
        }
        wiring.findings.push(finding);
    }
}
