//! From "this NIC heard that NIC" to cables, switches and what is wrong with them. It performs no IO.

use crate::{
    finding::{Finding, Kind, port_name},
    hearing::Hearing,
    lldp::Neighbour,
    model::{HostSight, Mac, NicSight, PortId},
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many strangers a finding names.
const NAMED: usize = 4;

/// NICs that hear each other through a switch, or through several that are connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Segment {
    /// The NICs, in order.
    pub ports: Vec<PortId>,
    /// What the switch says of itself by LLDP, with the NIC that heard it.
    pub neighbours: Vec<(PortId, Neighbour)>,
}

/// What follows from what was heard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// Cables from NIC to NIC, in order; parallel cables are several entries of one pair of hosts.
    pub cables: Vec<[PortId; 2]>,
    /// Switches, in the order of their first NICs.
    pub segments: Vec<Segment>,
    /// Everything else.
    pub findings: Vec<Finding>,
}

/// Infers the graph. `hosts` are in the order of the list; `None` are those that did not answer.
pub fn infer(hosts: &[Option<HostSight>]) -> Graph {
    let mut graph = Graph::default();
    let mut hearing = Hearing::of(hosts);
    twins(hosts, &mut hearing, &mut graph.findings);
    let context =
        Context { hosts, known: hosts.iter().flatten().flat_map(|host| host.macs.iter()).collect() };
    let mut is_joined = BTreeSet::new();
    for ports in hearing.components() {
        is_joined.extend(ports.iter().copied());
        context.join(&ports, &hearing, &mut graph);
    }
    context.one_way(&hearing, &mut is_joined, &mut graph.findings);
    for port in hearing.ports() {
        context.judge(port, is_joined.contains(&port), &mut graph.findings);
    }
    graph.cables.sort_unstable();
    graph
}

/// Finds interfaces that are the same port: they have one MAC address on one host, and hear the same NICs, or
/// one of them hears nobody. The one that hears less is forgotten.
fn twins(hosts: &[Option<HostSight>], hearing: &mut Hearing, findings: &mut Vec<Finding>) {
    let mut by_mac: BTreeMap<(usize, Mac), Vec<PortId>> = BTreeMap::new();
    for port in hearing.ports() {
        let Some(nic) = nic(hosts, port).filter(|nic| nic.mac != Mac::default()) else { continue };
        by_mac.entry((port.host, nic.mac)).or_default().push(port);
    }
    for ((_, mac), ports) in by_mac {
        let mut kept: Vec<PortId> = Vec::new();
        for port in ports {
            let has_carrier = |port| nic(hosts, port).is_some_and(|nic| nic.carrier);
            let same = kept.iter().position(|&other| {
                let [a, b] = [hearing.around(port, other), hearing.around(other, port)];
                has_carrier(port) && has_carrier(other) && (a == b || a.is_empty() || b.is_empty())
            });
            let Some(at) = same else {
                if let Some(&first) = kept.first() {
                    let [a, b] = [first, port].map(|port| port_name(hosts, port));
                    let says = format!("{a} and {b} have the same MAC address {mac} but other cables");
                    let advice = "give one of them an address of its own, or switches will confuse them";
                    findings.push(Finding::new(Kind::SharedMac, [first, port], says, advice));
                }
                kept.push(port);
                continue;
            };
            let other = kept[at];
            let hears_more = hearing.around(port, other).len() > hearing.around(other, port).len();
            let (stays, goes) = if hears_more { (port, other) } else { (other, port) };
            kept[at] = stays;
            hearing.merge(goes, stays);
            let [a, b] = [stays, goes].map(|port| port_name(hosts, port));
            let says = format!("{a} and {b} are the same port: both have the MAC address {mac}");
            findings.push(Finding::new(Kind::SamePort, [stays, goes], says, "the file has the first only"));
        }
    }
}

fn nic(hosts: &[Option<HostSight>], port: PortId) -> Option<&NicSight> {
    hosts.get(port.host)?.as_ref()?.nics.get(port.nic)
}

/// What judgements need to know.
struct Context<'a> {
    hosts: &'a [Option<HostSight>],
    /// MAC addresses of all interfaces of all hosts.
    known: BTreeSet<&'a Mac>,
}

impl Context<'_> {
    fn nic(&self, port: PortId) -> Option<&NicSight> {
        nic(self.hosts, port)
    }

    fn name(&self, port: PortId) -> String {
        port_name(self.hosts, port)
    }

    /// The switches that a NIC hears by LLDP. A host of the list that speaks LLDP is none.
    fn switches(&self, port: PortId) -> impl Iterator<Item = &Neighbour> {
        let is_ours = |neighbour: &Neighbour| {
            let mut hosts = self.hosts.iter().flatten();
            hosts.any(|host| {
                let by_name = neighbour.system.as_deref().and_then(|name| name.split('.').next());
                by_name == Some(host.name.as_str())
                    || host.macs.iter().any(|mac| mac.to_string() == neighbour.chassis)
            })
        };
        let neighbours = self.nic(port).into_iter().flat_map(|nic| &nic.heard.neighbours);
        neighbours.filter(move |neighbour| neighbour.is_switch != Some(false) && !is_ours(neighbour))
    }

    fn strangers(&self, port: PortId) -> BTreeSet<Mac> {
        let senders = self.nic(port).into_iter().flat_map(|nic| &nic.heard.senders);
        senders.filter(|mac| !self.known.contains(mac)).copied().collect()
    }

    /// Whether a switch is between two NICs: it says so, or a third machine is heard at both ends.
    fn is_switched(&self, [a, b]: [PortId; 2]) -> bool {
        let says_so = [a, b].into_iter().any(|port| self.switches(port).next().is_some());
        says_so || !self.strangers(a).is_disjoint(&self.strangers(b))
    }

    /// Makes a cable or a segment of NICs that hear each other.
    fn join(&self, ports: &[PortId], hearing: &Hearing, graph: &mut Graph) {
        match *ports {
            [a, b] if !self.is_switched([a, b]) => {
                if a.host == b.host {
                    let says = format!("a cable leads from {} to {}", self.name(a), self.name(b));
                    let advice = "it joins a host with itself: plug one end in elsewhere";
                    graph.findings.push(Finding::new(Kind::Loop, [a, b], says, advice));
                } else {
                    graph.cables.push([a, b]);
                }
            }
            _ => {
                for (number, &from) in ports.iter().enumerate() {
                    for &to in &ports[number + 1..] {
                        self.uneven(from, to, hearing, &mut graph.findings);
                    }
                }
                let heard = |port| self.switches(port).map(move |switch| (port, switch.clone()));
                let neighbours = ports.iter().flat_map(|&port| heard(port)).collect();
                graph.segments.push(Segment { ports: ports.to_vec(), neighbours });
            }
        }
    }

    fn uneven(&self, a: PortId, b: PortId, hearing: &Hearing, findings: &mut Vec<Finding>) {
        for [from, to] in [[a, b], [b, a]] {
            if !hearing.is_heard(from, to) {
                let says = format!(
                    "{} does not hear {}, although both hear others of the same switch",
                    self.name(to),
                    self.name(from)
                );
                let advice = "run `tasuki discover` again; if it stays, a host bridges its NICs, the switch \
                              has VLANs, or a cable loses frames";
                findings.push(Finding::new(Kind::Uneven, [from, to], says, advice));
            }
        }
    }

    /// Finds what passes in one direction only between NICs that share no cable or switch otherwise.
    fn one_way(&self, hearing: &Hearing, joined: &mut BTreeSet<PortId>, findings: &mut Vec<Finding>) {
        for [from, to] in hearing.one_way() {
            let (a, b) = (self.name(from), self.name(to));
            let says = format!("{b} hears {a}, but {a} does not hear {b}");
            let advice = format!("the cable between them is broken, or {b} does not send: try another cable");
            findings.push(Finding::new(Kind::OneWay, [from, to], says, advice));
            joined.extend([from, to]);
        }
    }

    /// Judges what one NIC is besides a part of a cable.
    fn judge(&self, port: PortId, is_joined: bool, findings: &mut Vec<Finding>) {
        let Some(nic) = self.nic(port) else { return };
        let name = self.name(port);
        let mut find = |kind, says, advice: &str| findings.push(Finding::new(kind, [port], says, advice));
        if nic.heard.dropped > 0 {
            let says = format!("{name}: {} frames came damaged", nic.heard.dropped);
            find(Kind::Damaged, says, "`tasuki check` will name the part at fault");
        }
        let strangers = self.strangers(port);
        if !strangers.is_empty() || !nic.heard.others.is_empty() {
            let macs = strangers.iter().map(Mac::to_string);
            let all: Vec<_> = nic.heard.others.iter().cloned().chain(macs).collect();
            let more = if all.len() > NAMED { format!(" and {} more", all.len() - NAMED) } else { "".into() };
            let named = all[..all.len().min(NAMED)].join(", ");
            let advice =
                "is it plugged into a network that others use? Then name those hosts too, or leave it out";
            find(
                Kind::Strangers,
                format!("{name} hears machines that are not in the list: {named}{more}"),
                advice,
            );
        }
        let switch = self.switches(port).next();
        match (&nic.problem, switch) {
            _ if is_joined => {}
            (Some(why), _) => find(Kind::Unusable, format!("{name} could not be used: {why}"), ""),
            _ if !nic.carrier => {
                find(
                    Kind::Dead,
                    format!("{name} has no carrier"),
                    "nothing is plugged in, or the other end is off",
                );
            }
            (_, Some(switch)) => {
                let says = format!("{name} is on switch {} port {}, alone", switch.name(), switch.port);
                find(Kind::Alone, says, "plug other hosts into that switch, or name them too");
            }
            _ if !strangers.is_empty() => {}
            _ => {
                let says = format!("{name} has a carrier, and nobody was heard on it");
                find(Kind::Silent, says, "is the host at its other end in the list, and did it answer?");
            }
        }
    }
}
