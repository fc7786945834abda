//! Random networks, and an exhaustive oracle for tables: every pair is walked hop by hop, without any memory
//! of other pairs, and the graph of cables is read afresh.
#![allow(dead_code)]

pub mod oracle;

use std::collections::{BTreeMap, BTreeSet};
use tasuki_topo::shapes::{self, Fit};
use tasuki_topo::{
    ChannelId, Fault, FaultKind, HostId, Kind, LinkId, Network, NetworkBuilder, NodeId, Port, Report,
    SplitMix64, Tables,
};

/// A random irregular network of 16 to 64 switches with 1 to 3 hosts each, or of relaying hosts.
pub fn irregular(seed: u64) -> Network {
    let mut random = SplitMix64::new(seed);
    let n = 16 + random.below(49) as u32;
    let degree = 3 + random.below(4) as u32;
    let least = n - 1 + n / 8;
    let edges = least + random.below((n * degree / 2 - least) as usize * 3 / 4 + 1) as u32;
    let fit = if random.below(4) == 0 { Fit::relays() } else { Fit::switches(1 + random.below(3) as u32) };
    shapes::irregular(n, edges, degree, seed, &fit).unwrap_or_else(|e| panic!("seed {seed}: {e}"))
}

/// A small random network of mixed kinds: switches, relays, hosts with one to three cables, parallel cables.
pub fn mixed(seed: u64) -> Network {
    let mut random = SplitMix64::new(seed);
    let mut builder = NetworkBuilder::new(format!("mixed {seed}"));
    let mut inner = Vec::new();
    for i in 0..3 + random.below(6) {
        let node = match random.below(3) {
            0 => builder.relay(format!("relay{i}")),
            _ => builder.switch(format!("switch{i}"), None),
        };
        if let Some(&other) = inner.get(random.below(inner.len().max(1))) {
            builder.cable(node, other, 1);
        }
        inner.push(node);
    }
    for _ in 0..random.below(inner.len()) {
        let (a, b) = (random.below(inner.len()), random.below(inner.len()));
        if a != b {
            builder.cable(inner[a], inner[b], 1);
        }
    }
    for i in 0..2 + random.below(6) {
        let host = builder.host(format!("host{i}"));
        for _ in 0..1 + random.below(3).saturating_sub(1) {
            builder.cable(host, inner[random.below(inner.len())], 1);
        }
    }
    builder.build().unwrap_or_else(|e| panic!("seed {seed}: {e}"))
}

/// Cables whose both ends forward.
pub fn fabric_links(net: &Network) -> Vec<LinkId> {
    let inner = |l: &LinkId| net.links()[l.ix()].ends.iter().all(|&(n, _)| net.forwards(n));
    (0..net.links().len() as u32).map(LinkId).filter(inner).collect()
}

/// Cables between a host and every node by which packets can get to it; by repeated relaxation.
pub fn needed(net: &Network, goal: NodeId) -> BTreeMap<NodeId, u32> {
    let mut need = BTreeMap::from([(goal, 0)]);
    let mut changed = true;
    while changed {
        changed = false;
        for link in net.links().iter().filter(|l| l.up) {
            for (near, far) in [(link.ends[0].0, link.ends[1].0), (link.ends[1].0, link.ends[0].0)] {
                let passes = near == goal || net.nodes()[near.ix()].kind != Kind::Host;
                let Some(&d) = need.get(&near).filter(|_| passes) else { continue };
                if need.get(&far).is_none_or(|&old| d + 1 < old) {
                    need.insert(far, d + 1);
                    changed = true;
                }
            }
        }
    }
    need
}

/// Whether every host reaches every other: by a cable, or by a part of forwarding nodes that both touch.
pub fn connected(net: &Network) -> bool {
    let passes = |node: NodeId| net.nodes()[node.ix()].kind != Kind::Host;
    let cables = || net.links().iter().filter(|l| l.up).map(|l| l.ends.map(|(node, _)| node));
    let mut part: Vec<usize> = (0..net.nodes().len()).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for [a, b] in cables().filter(|ends| ends.iter().all(|&node| passes(node))) {
            let least = part[a.ix()].min(part[b.ix()]);
            changed |= part[a.ix()] != part[b.ix()];
            (part[a.ix()], part[b.ix()]) = (least, least);
        }
    }
    let mut touches: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); net.nodes().len()];
    for (near, far) in cables().flat_map(|[a, b]| [(a, b), (b, a)]) {
        if passes(far) {
            touches[near.ix()].insert(part[far.ix()]);
        }
    }
    for (node, touched) in touches.iter_mut().enumerate().filter(|&(node, _)| passes(NodeId(node as u32))) {
        touched.insert(part[node]);
    }
    let joined = |a: NodeId, b: NodeId| {
        a == b
            || !touches[a.ix()].is_disjoint(&touches[b.ix()])
            || cables().any(|ends| ends.contains(&a) && ends.contains(&b))
    };
    // Where each host touches one part, being joined to the first one is enough.
    let simple = net.hosts().iter().all(|h| touches[h.ix()].len() == 1);
    let firsts = &net.hosts()[..if simple { 1 } else { net.hosts().len() }];
    firsts.iter().all(|&a| net.hosts().iter().all(|&b| joined(a, b)))
}

/// A (channel, virtual channel) and one that packets go on to from it.
pub type Dependency = ((ChannelId, u32), (ChannelId, u32));

/// What the exhaustive search found.
pub struct Exhaustive {
    pub report: Report,
    pub dependencies: BTreeSet<Dependency>,
    pub smallest_circle: Option<usize>,
}

/// The working channel at a port, from the list of cables.
fn channel_at(net: &Network, node: NodeId, port: Port) -> Option<ChannelId> {
    let links = net.links().iter().enumerate().filter(|(_, l)| l.up);
    let mut found = links.filter_map(|(i, l)| {
        let side = l.ends.iter().position(|&end| end == (node, port))?;
        Some(ChannelId((2 * i + side) as u32))
    });
    found.next()
}

fn hop(net: &Network, tables: &Tables, node: NodeId, to: HostId) -> Result<ChannelId, FaultKind> {
    match tables.row(node) {
        Some(row) => {
            let port = tables.port(row, to).ok_or(FaultKind::NoEntry { node })?;
            channel_at(net, node, port).ok_or(FaultKind::DeadPort { node, port })
        }
        None => {
            let ports = (0..net.ports(node) as u16).map(Port);
            let channels: Vec<_> = ports.filter_map(|p| channel_at(net, node, p)).collect();
            if channels.len() == 1 { Ok(channels[0]) } else { Err(FaultKind::NoEntry { node }) }
        }
    }
}

/// Channels until the packet arrives or something happens.
fn ports_walk(
    net: &Network,
    tables: &Tables,
    from: NodeId,
    to: HostId,
) -> (Vec<ChannelId>, Option<FaultKind>) {
    let goal = net.hosts()[to.ix()];
    let (mut node, mut visited, mut channels) = (from, vec![], vec![]);
    while node != goal {
        if !channels.is_empty() && net.nodes()[node.ix()].kind == Kind::Host {
            return (channels, Some(FaultKind::WrongHost { node }));
        }
        if visited.contains(&node) {
            return (channels, Some(FaultKind::Loop));
        }
        visited.push(node);
        match hop(net, tables, node, to) {
            Err(kind) => return (channels, Some(kind)),
            Ok(channel) => {
                channels.push(channel);
                node = net.to(channel);
            }
        }
    }
    (channels, None)
}

pub fn exhaustive(net: &Network, tables: &Tables) -> Exhaustive {
    let hosts = net.hosts().len() as u64;
    let mut report = Report {
        pairs: hosts * (hosts - 1),
        delivered: 0,
        faulty: 0,
        faults: vec![],
        longer: 0,
        excess_max: 0,
        cables: 0,
        cables_max: 0,
        vcs: 0,
        dependencies: 0,
        circle: None,
    };
    let mut dependencies = BTreeSet::new();
    for (to, &goal) in net.hosts().iter().enumerate() {
        let (to, need) = (HostId(to as u32), needed(net, goal));
        for (from, &source) in net.hosts().iter().enumerate().filter(|(_, s)| **s != goal) {
            let from = HostId(from as u32);
            let Some(&least) = need.get(&source) else {
                report.faults.push(Fault { from, to, kind: FaultKind::Disconnected });
                continue;
            };
            let (channels, fault) = ports_walk(net, tables, source, to);
            let exceeded = vc_walk(net, tables, &channels, fault, to, &mut report.vcs, &mut dependencies);
            match fault.or(exceeded) {
                Some(kind) => report.faults.push(Fault { from, to, kind }),
                None => {
                    let cables = channels.len() as u32;
                    report.delivered += 1;
                    report.cables += u64::from(cables);
                    report.cables_max = report.cables_max.max(cables);
                    report.longer += u64::from(cables > least);
                    report.excess_max = report.excess_max.max(cables - least);
                }
            }
        }
    }
    report.faulty = report.faults.len() as u64;
    report.dependencies = dependencies.len() as u64;
    let smallest_circle = smallest_circle(&dependencies);
    Exhaustive { report, dependencies, smallest_circle }
}

/// Follows virtual channels along the channels of a walk; a walk that goes round is followed until it
/// repeats.
fn vc_walk(
    net: &Network,
    tables: &Tables,
    channels: &[ChannelId],
    fault: Option<FaultKind>,
    to: HostId,
    vcs: &mut u32,
    dependencies: &mut BTreeSet<Dependency>,
) -> Option<FaultKind> {
    let first = *channels.first()?;
    let (source, near) = (net.from(first), net.to(first));
    let entry = tables.row(source).or_else(|| tables.row(near));
    let mut at = (first, u32::from(tables.start(entry, to)));
    let mut seen = BTreeSet::new();
    loop {
        if at.1 >= u32::from(tables.vcs().max(1)) {
            return Some(FaultKind::ChannelExceeded { channel: at.0, vc: at.1 });
        }
        *vcs = (*vcs).max(at.1 + 1);
        if !seen.insert(at) {
            return None;
        }
        let node = net.to(at.0);
        let round = fault == Some(FaultKind::Loop);
        if !round && channels.last() == Some(&at.0) {
            return None;
        }
        let Ok(next) = hop(net, tables, node, to) else { return None };
        let row = tables.row(node);
        let rule = row.map(|r| tables.turn(r, net.in_port(at.0), net.out_port(next)));
        let vc = rule.map_or(at.1, |rule| rule.apply(at.1));
        let outside = |node: NodeId| net.nodes()[node.ix()].kind == Kind::Host;
        if vc < u32::from(tables.vcs().max(1)) && !outside(net.from(at.0)) && !outside(net.to(next)) {
            dependencies.insert((at, (next, vc)));
        }
        at = (next, vc);
    }
}

/// Length of the shortest circle: a search from every vertex.
fn smallest_circle(edges: &BTreeSet<Dependency>) -> Option<usize> {
    let mut after: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (a, b) in edges {
        after.entry(*a).or_default().push(*b);
    }
    let through = |start: &(ChannelId, u32)| {
        let (mut seen, mut ring, mut length) = (BTreeSet::new(), vec![*start], 0);
        while !ring.is_empty() {
            length += 1;
            let next: Vec<_> =
                ring.iter().flat_map(|v| after.get(v).into_iter().flatten()).copied().collect();
            if next.contains(start) {
                return Some(length);
            }
            ring = next.into_iter().filter(|v| seen.insert(*v)).collect();
        }
        None
    };
    after.keys().filter_map(through).min()
}
