//! From what was discovered to a cluster, and to the text of its file.

use crate::{
    blame,
    discoverer::Discovered,
    finding::{Finding, Kind, port_name},
    infer::{Graph, Segment},
    measure::Measured,
    model::{HostSight, PortId},
    reach::bare_host,
};
use std::collections::{BTreeMap, BTreeSet};
use tasuki_cluster::{
    Cable, Cluster, DEFAULT_RATE, End, Host, HostId, MTU_MAX, MTU_MIN, MacAddr, Nic, NicId, Rate, SshAddress,
    Switch, SwitchId, check_label,
};

/// A cluster that was discovered.
#[derive(Clone, Debug)]
pub struct Description {
    /// The cluster: all hosts that cables join with most others.
    pub cluster: Cluster,
    /// Everything that was found besides.
    pub findings: Vec<Finding>,
    /// What is known of switches and rates besides the file's keys.
    pub(crate) notes: Vec<String>,
    /// What is so only where the file has connected switches as one.
    pub(crate) as_one: Vec<String>,
    /// The text of the cluster's file, with a comment for each finding.
    pub text: String,
    /// NICs that do not tell their rate, so that one is assumed.
    pub assumed: BTreeSet<NicId>,
    /// Hosts that did not answer, by what they were reached as.
    pub(crate) absent: Vec<Host>,
    /// Names of hosts that answered and that no cable joins with the cluster.
    pub(crate) apart: BTreeSet<String>,
}

impl Description {
    /// The text of the file of another cluster, with the same comments.
    pub fn text_of(&self, cluster: &Cluster) -> String {
        let joins_switches = |cable: &Cable| cable.ends.iter().all(|end| matches!(end, End::Port { .. }));
        let as_one = match cluster.cables.iter().any(joins_switches) {
            true => &[][..],
            false => &self.as_one[..],
        };
        text(cluster, &self.findings, &[&self.notes[..], as_one].concat())
    }
}

/// Describes what was discovered as a cluster of this name. `management` says how ssh reaches a host, by its
/// number in the list.
pub fn describe(
    name: &str,
    discovered: &Discovered,
    management: impl Fn(usize) -> Option<SshAddress>,
) -> Description {
    let Discovered { hosts, names, graph, measured } = discovered;
    let mut findings = graph.findings.clone();
    let kept = largest(hosts, graph);
    let mut apart = BTreeSet::new();
    for (number, host) in hosts.iter().enumerate() {
        let Some(host) = host.as_ref().filter(|_| !kept.contains(&number)) else { continue };
        apart.insert(host.name.clone());
        let says = format!("{} is not in the file: no cable joins it with the others", host.name);
        findings.push(Finding::new(Kind::Apart, [], says, "cable it, and run `tasuki discover` again"));
    }
    let mtus = mtus(hosts, graph, measured, &mut findings);
    let cluster = Cluster::empty(name.into());
    let (places, notes, assumed) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
    let slower = blame::slow(hosts, graph, measured);
    let slower = slower.into_iter().map(|(port, slow)| (port, slow.mbits)).collect();
    let as_one = Vec::new();
    let mut builder = Builder { cluster, places, notes, as_one, assumed, slower };
    for &number in &kept {
        let Some(host) = &hosts[number] else { continue };
        let address = management(number).filter(|address| address.to_string() != host.name);
        builder.cluster.hosts.push(bare_host(host.name.clone(), address));
        builder.add_nics(number, host, &mtus, &findings);
    }
    builder.note_rates(hosts);
    graph.cables.iter().for_each(|ends| builder.add_cable(*ends));
    graph.segments.iter().for_each(|segment| builder.add_segment(segment, hosts));
    let Builder { cluster, notes, as_one, assumed, .. } = builder;
    let absent = (0..hosts.len()).filter(|&number| hosts[number].is_none());
    let absent = absent.map(|number| bare_host(names[number].clone(), management(number))).collect();
    let text = String::new();
    let mut description = Description { cluster, findings, notes, as_one, text, assumed, absent, apart };
    description.text = description.text_of(&description.cluster);
    description
}

/// All sets of NICs that share a cable or switch.
fn media(graph: &Graph) -> impl Iterator<Item = &[PortId]> {
    let segments = graph.segments.iter().map(|segment| segment.ports.as_slice());
    graph.cables.iter().map(<[_; 2]>::as_slice).chain(segments)
}

/// The numbers of the hosts of the largest set that cables join; of several such sets the first.
fn largest(hosts: &[Option<HostSight>], graph: &Graph) -> BTreeSet<usize> {
    let mut sets: Vec<BTreeSet<usize>> =
        (0..hosts.len()).filter(|&number| hosts[number].is_some()).map(|number| [number].into()).collect();
    for ports in media(graph) {
        let joined: BTreeSet<usize> = ports.iter().map(|port| port.host).collect();
        let (touched, apart): (Vec<_>, Vec<_>) = sets.into_iter().partition(|set| !set.is_disjoint(&joined));
        sets = apart;
        sets.push(touched.into_iter().flatten().collect());
    }
    sets.sort_by_key(|set| (std::cmp::Reverse(set.len()), set.first().copied()));
    sets.into_iter().next().unwrap_or_default()
}

/// The MTU of each NIC in the file: the smallest of its cable or switch, as all of these must be equal.
fn mtus(
    hosts: &[Option<HostSight>],
    graph: &Graph,
    measured: &[Measured],
    findings: &mut Vec<Finding>,
) -> BTreeMap<PortId, u32> {
    let mtu = |port: &PortId| {
        let host = hosts.get(port.host).and_then(Option::as_ref);
        host.and_then(|host| host.nics.get(port.nic)).map_or(MTU_MIN, |nic| nic.mtu)
    };
    let mut chosen = BTreeMap::new();
    for ports in media(graph) {
        let least = ports.iter().map(mtu).min().unwrap_or(MTU_MIN);
        let narrow =
            measured.iter().filter(|line| ports.contains(&line.ports[0])).filter_map(|line| line.mtu);
        let carried = narrow.min().unwrap_or(least).min(least);
        chosen.extend(ports.iter().map(|port| (*port, carried)));
        if ports.iter().any(|port| mtu(port) != least) {
            let all: Vec<_> =
                ports.iter().map(|port| format!("{} {}", port_name(hosts, *port), mtu(port))).collect();
            let says = format!("MTUs differ on one cable or switch: {}", all.join(", "));
            let advice = format!("the file has {least}, which `tasuki apply` sets");
            findings.push(Finding::new(Kind::Mtu, ports, says, advice));
        }
    }
    chosen
}

struct Builder {
    cluster: Cluster,
    /// Where NICs of the list are in the cluster.
    places: BTreeMap<PortId, NicId>,
    /// What is known of switches besides the file's keys.
    notes: Vec<String>,
    /// What is known of connected switches that the file has as one.
    as_one: Vec<String>,
    /// NICs that do not tell their rate.
    assumed: BTreeSet<NicId>,
    /// NICs that carry less than they say, or that say nothing, with what was measured, Mbit/s.
    slower: BTreeMap<PortId, u64>,
}

impl Builder {
    /// Adds the NICs of the last host: all that took part, without second interfaces of one port.
    fn add_nics(
        &mut self,
        number: usize,
        host: &HostSight,
        mtus: &BTreeMap<PortId, u32>,
        findings: &[Finding],
    ) {
        let of_kind = |kind| findings.iter().filter(move |finding| finding.kind == kind);
        let twins: BTreeSet<PortId> =
            of_kind(Kind::SamePort).filter_map(|finding| finding.ports.last().copied()).collect();
        let shared: BTreeSet<PortId> =
            of_kind(Kind::SharedMac).flat_map(|finding| finding.ports.iter().copied()).collect();
        let id = HostId(self.cluster.hosts.len() - 1);
        for (index, sight) in host.nics.iter().enumerate() {
            let port = PortId { host: number, nic: index };
            if twins.contains(&port) {
                continue;
            }
            let nics = &mut self.cluster.hosts[id.0].nics;
            let place = NicId { host: id, index: nics.len() };
            self.places.insert(port, place);
            let mbits = self.slower.get(&port).copied().or(sight.mbits);
            if mbits.is_none() {
                self.assumed.insert(place);
            }
            let rate = mbits.map_or(DEFAULT_RATE, |mbits| Rate { bits_per_second: mbits * 1_000_000 });
            nics.push(Nic {
                name: sight.name.clone(),
                mac: (!shared.contains(&port)).then_some(MacAddr(sight.mac.0)),
                rate,
                mtu: mtus.get(&port).copied().unwrap_or(sight.mtu).clamp(MTU_MIN, MTU_MAX),
                ip: true,
                delay: None,
            });
        }
    }

    /// Notes which NICs have a rate in the file that they have not told.
    fn note_rates(&mut self, hosts: &[Option<HostSight>]) {
        let is_unknown = |port: &&PortId| {
            let host = hosts.get(port.host).and_then(Option::as_ref);
            host.and_then(|host| host.nics.get(port.nic)).is_some_and(|nic| nic.mbits.is_none())
        };
        let unknown = self.places.keys().filter(is_unknown);
        let (measured, unknown): (Vec<&PortId>, Vec<&PortId>) =
            unknown.partition(|port| self.slower.contains_key(*port));
        if !measured.is_empty() {
            let count = measured.len();
            self.notes.push(format!("{count} NICs do not tell their rate: the file has what was measured"));
        }
        if !unknown.is_empty() {
            let names: Vec<_> = unknown.iter().take(4).map(|port| port_name(hosts, **port)).collect();
            let more =
                if unknown.len() > 4 { format!(" and {} more", unknown.len() - 4) } else { String::new() };
            self.notes.push(format!(
                "the rate of {}{more} is not known: {DEFAULT_RATE} is assumed",
                names.join(", ")
            ));
        }
    }

    fn place(&self, port: PortId) -> Option<End> {
        self.places.get(&port).copied().map(End::Nic)
    }

    fn add_cable(&mut self, [a, b]: [PortId; 2]) {
        if let (Some(a), Some(b)) = (self.place(a), self.place(b)) {
            self.cluster.cables.push(Cable { ends: [a, b], length_m: None });
        }
    }

    fn add_segment(&mut self, segment: &Segment, hosts: &[Option<HostSight>]) {
        let ends: Vec<End> = segment.ports.iter().filter_map(|port| self.place(*port)).collect();
        if ends.is_empty() {
            return;
        }
        let names: BTreeSet<&str> = segment.neighbours.iter().map(|(_, switch)| switch.name()).collect();
        let name = self.switch_name(names.first().copied());
        let rates = ends.iter().map(|end| match end {
            End::Nic(nic) => self.cluster.nic_of(*nic).rate,
            End::Port { .. } => DEFAULT_RATE,
        });
        let rate = rates.max().unwrap_or(DEFAULT_RATE);
        for (port, switch) in &segment.neighbours {
            let Some(at) = segment.ports.iter().position(|other| other == port) else { continue };
            let nic = port_name(hosts, *port);
            self.notes.push(format!(
                "{name}:{} ({nic}) is port {} of {}",
                at + 1,
                switch.port,
                switch.name()
            ));
        }
        if names.len() > 1 {
            self.as_one
                .push(format!("{name} is several switches that are connected: the file has them as one"));
        }
        let switch = SwitchId(self.cluster.switches.len());
        self.cluster.switches.push(Switch { name, ports: ends.len() as u32, rate, agent: None });
        for (nic, port) in ends.into_iter().zip(1..) {
            self.cluster.cables.push(Cable { ends: [nic, End::Port { switch, port }], length_m: None });
        }
    }

    /// A name for the next switch: its own if that can be one, or else `sw` and a number.
    fn switch_name(&self, own: Option<&str>) -> String {
        let is_free = |name: &str| {
            let hosts = self.cluster.hosts.iter().map(|host| &host.name);
            let mut all = hosts.chain(self.cluster.switches.iter().map(|switch| &switch.name));
            all.all(|other| !other.eq_ignore_ascii_case(name))
        };
        let short = own.and_then(|own| own.split('.').next()).filter(|own| check_label(own).is_ok());
        let numbered = (self.cluster.switches.len() + 1..).map(|number| format!("sw{number}"));
        let mut all = short.map(str::to_owned).into_iter().chain(numbered);
        all.find(|name| is_free(name)).unwrap_or_default()
    }
}

/// The file: what was found as comments, then the cluster.
fn text(cluster: &Cluster, findings: &[Finding], notes: &[String]) -> String {
    let mut text = format!(
        "# Written by `tasuki discover`: {} hosts, {} switches, {} cables.\n",
        cluster.hosts.len(),
        cluster.switches.len(),
        cluster.cables.len()
    );
    let lines = findings.iter().map(Finding::line).chain(notes.iter().cloned());
    for line in lines {
        // What machines say of themselves must not end the comment.
        let line: String = line.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        text += &format!("# - {line}\n");
    }
    text + "\n" + &cluster.to_toml()
}
