//! Walks the tables for all pairs. Per destination, what happens from a node on is found once, whichever packet
//! asks; the same for a (channel, virtual channel).

use super::distance::Needed;
use super::{Fault, FaultKind, Report};
use crate::network::{ChannelId, HostId, Network, NodeId, Port};
use crate::tables::{Tables, TurnRule};

/// The channel dependency graph: states are numbered `channel * vcs + vc`.
pub(super) struct Graph {
    pub vcs: u32,
    /// By state: bits of the output ports at the channel's head that packets go on by.
    words: Vec<u64>,
    words_per_state: usize,
    /// By state: the state behind each used port.
    pub edges: Vec<Vec<u32>>,
}

pub(super) struct Walked {
    pub report: Report,
    pub graph: Graph,
}

/// What becomes of packets from a node on, as far as ports go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Unknown,
    Pending,
    /// Arrives after so many cables.
    Arrives(u32),
    Fails(FaultKind),
}

/// What becomes of packets from a (channel, virtual channel) on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rise {
    Fits,
    Exceeds(ChannelId, u32),
}

pub(super) struct Walk<'a> {
    net: &'a Network,
    tables: &'a Tables,
    witnesses: usize,
    report: Report,
    graph: Graph,
    /// By node, for the present destination; those in `known` are not `Unknown`.
    ways: Vec<Way>,
    known: Vec<NodeId>,
    /// By state: the destination that `rises` holds for, plus 1.
    seen: Vec<u32>,
    rises: Vec<Rise>,
    groups: Vec<Group>,
}

/// Sources that hang on the same node by one cable each and whose turns there are alike.
struct Group {
    /// The first cable of the group's first host, which stands for all.
    first: Option<ChannelId>,
    hosts: Vec<HostId>,
}

impl<'a> Walk<'a> {
    pub fn new(net: &'a Network, tables: &'a Tables, witnesses: usize) -> Self {
        let vcs = u32::from(tables.vcs().max(1));
        let states = net.channels() * vcs as usize;
        let ports = (0..net.nodes().len() as u32).map(|n| net.ports(NodeId(n))).max().unwrap_or(0);
        let words_per_state = ports.div_ceil(64);
        let graph = Graph {
            vcs,
            words: vec![0; states * words_per_state],
            words_per_state,
            edges: vec![Vec::new(); states],
        };
        let hosts = net.hosts().len() as u64;
        let report = Report {
            pairs: hosts * hosts.saturating_sub(1),
            delivered: 0,
            faulty: 0,
            faults: Vec::new(),
            longer: 0,
            excess_max: 0,
            cables: 0,
            cables_max: 0,
            vcs: 0,
            dependencies: 0,
            circle: None,
        };
        let groups = group_sources(net, tables);
        let ways = vec![Way::Unknown; net.nodes().len()];
        let (seen, rises) = (vec![0; states], vec![Rise::Fits; states]);
        Self { net, tables, witnesses, report, graph, ways, known: Vec::new(), seen, rises, groups }
    }

    pub fn run(mut self) -> Walked {
        let mut needed = Needed::new();
        let groups = std::mem::take(&mut self.groups);
        let mut group_of = vec![usize::MAX; self.net.hosts().len()];
        for (i, group) in groups.iter().enumerate() {
            group.hosts.iter().for_each(|h| group_of[h.ix()] = i);
        }
        for to in (0..self.net.hosts().len() as u32).map(HostId) {
            let goal = self.net.hosts()[to.ix()];
            needed.towards(self.net, goal);
            for node in self.known.drain(..) {
                self.ways[node.ix()] = Way::Unknown;
            }
            let mut faults = Vec::new();
            for (i, group) in groups.iter().enumerate() {
                let stands = group.hosts.iter().copied().find(|&h| h != to);
                let Some(stands) = stands else { continue };
                let count = group.hosts.len() as u64 - u64::from(group_of[to.ix()] == i);
                let outcome = self.examine(stands, to, goal, &needed);
                self.tally(outcome, count, &group.hosts, to, &mut faults);
            }
            let room = self.witnesses.saturating_sub(self.report.faults.len());
            faults.sort_unstable();
            self.report.faults.extend(faults.into_iter().take(room));
        }
        self.graph.words = Vec::new();
        Walked { report: self.report, graph: self.graph }
    }

    fn tally(
        &mut self,
        outcome: Result<(u32, u32), FaultKind>,
        count: u64,
        hosts: &[HostId],
        to: HostId,
        faults: &mut Vec<Fault>,
    ) {
        match outcome {
            Ok((cables, least)) => {
                self.report.delivered += count;
                self.report.cables += u64::from(cables) * count;
                self.report.cables_max = self.report.cables_max.max(cables);
                if cables > least {
                    self.report.longer += count;
                    self.report.excess_max = self.report.excess_max.max(cables - least);
                }
            }
            Err(kind) => {
                self.report.faulty += count;
                let fault = |&from: &HostId| Fault { from, to, kind: self.own_fault(kind, from) };
                faults.extend(hosts.iter().filter(|&&h| h != to).map(fault));
            }
        }
    }

    /// What the host that stands for its group meets on its own first cable, its fellows meet on theirs.
    fn own_fault(&self, kind: FaultKind, host: HostId) -> FaultKind {
        let own = self.net.out(self.net.hosts()[host.ix()]).next();
        match (kind, own) {
            (FaultKind::ChannelExceeded { channel, vc }, Some(own))
                if !self.net.forwards(self.net.from(channel)) =>
            {
                let several = self.net.from(channel) == self.net.from(own);
                FaultKind::ChannelExceeded { channel: if several { channel } else { own }, vc }
            }
            _ => kind,
        }
    }

    /// Cables that a packet takes and cables that it needs, or what goes wrong.
    fn examine(
        &mut self,
        from: HostId,
        to: HostId,
        goal: NodeId,
        needed: &Needed,
    ) -> Result<(u32, u32), FaultKind> {
        let source = self.net.hosts()[from.ix()];
        let least = needed.from(source, goal).ok_or(FaultKind::Disconnected)?;
        let way = self.way(source, to, goal);
        // Even a packet that never arrives occupies channels on its way.
        let rise = self.first_hop(source, to).map(|first| {
            let entry = self.tables.row(source).or_else(|| self.tables.row(self.net.to(first)));
            self.rise(first, u32::from(self.tables.start(entry, to)), to, goal)
        });
        match (way, rise) {
            (Way::Arrives(_), Some(Rise::Exceeds(channel, vc))) => {
                Err(FaultKind::ChannelExceeded { channel, vc })
            }
            (Way::Arrives(cables), _) => Ok((cables, least)),
            (Way::Fails(kind), _) => Err(kind),
            (Way::Unknown | Way::Pending, _) => Err(FaultKind::Loop),
        }
    }

    fn first_hop(&self, source: NodeId, to: HostId) -> Option<ChannelId> {
        self.hop(source, to).ok()
    }

    /// The channel that a node sends packets to a destination over.
    fn hop(&self, node: NodeId, to: HostId) -> Result<ChannelId, FaultKind> {
        let Some(row) = self.tables.row(node) else {
            let mut cables = self.net.out(node);
            let only = cables.next().filter(|_| cables.next().is_none());
            return only.ok_or(FaultKind::NoEntry { node });
        };
        let port = self.tables.port(row, to).ok_or(FaultKind::NoEntry { node })?;
        self.net.channel_at(node, port).ok_or(FaultKind::DeadPort { node, port })
    }

    /// Follows ports from a node; remembers the result for all nodes on the way.
    fn way(&mut self, start: NodeId, to: HostId, goal: NodeId) -> Way {
        let mut passed = Vec::new();
        let mut node = start;
        let mut result = loop {
            if node == goal {
                break Way::Arrives(0);
            }
            // A host that does not relay may start a path, but a packet that comes to it (be it back) ends there.
            if !passed.is_empty() && !self.net.forwards(node) {
                break Way::Fails(FaultKind::WrongHost { node });
            }
            match self.ways[node.ix()] {
                Way::Unknown => {}
                Way::Pending => break Way::Fails(FaultKind::Loop),
                known => break known,
            }
            match self.hop(node, to) {
                Err(kind) => {
                    self.ways[node.ix()] = Way::Fails(kind);
                    self.known.push(node);
                    break Way::Fails(kind);
                }
                Ok(channel) => {
                    self.ways[node.ix()] = Way::Pending;
                    self.known.push(node);
                    passed.push(node);
                    node = self.net.to(channel);
                }
            }
        };
        for &node in passed.iter().rev() {
            if let Way::Arrives(cables) = result {
                result = Way::Arrives(cables + 1);
            }
            self.ways[node.ix()] = result;
        }
        result
    }

    /// Follows virtual channels from a first channel on, entering every dependency into the graph.
    fn rise(&mut self, first: ChannelId, vc: u32, to: HostId, goal: NodeId) -> Rise {
        let (mut channel, mut vc) = (first, vc);
        let mut passed = Vec::new();
        let result = loop {
            if vc >= self.graph.vcs {
                break Rise::Exceeds(channel, vc);
            }
            self.report.vcs = self.report.vcs.max(vc + 1);
            let state = channel.ix() * self.graph.vcs as usize + vc as usize;
            if self.seen[state] == to.0 + 1 {
                break self.rises[state];
            }
            self.seen[state] = to.0 + 1;
            self.rises[state] = Rise::Fits;
            passed.push(state);
            let node = self.net.to(channel);
            if node == goal || !self.net.forwards(node) {
                break Rise::Fits;
            }
            let Ok(next) = self.hop(node, to) else { break Rise::Fits };
            let next_vc = self.turn(node, channel, next).apply(vc);
            self.depend(channel, state, next, next_vc);
            (channel, vc) = (next, next_vc);
        };
        for state in passed {
            self.rises[state] = result;
        }
        result
    }

    fn turn(&self, node: NodeId, channel: ChannelId, next: ChannelId) -> TurnRule {
        let row = self.tables.row(node);
        row.map_or(TurnRule::Keep, |row| {
            self.tables.turn(row, self.net.in_port(channel), self.net.out_port(next))
        })
    }

    /// Enters a dependency, unless it can be part of no circle: nothing waits for a cable out of a host that does not
    /// relay, and a cable into one waits for nothing.
    fn depend(&mut self, channel: ChannelId, state: usize, next: ChannelId, next_vc: u32) {
        let inner = self.net.forwards(self.net.from(channel)) && self.net.forwards(self.net.to(next));
        if next_vc >= self.graph.vcs || !inner {
            return;
        }
        let port = self.net.out_port(next).ix();
        let word = &mut self.graph.words[state * self.graph.words_per_state + port / 64];
        if *word & (1 << (port % 64)) == 0 {
            *word |= 1 << (port % 64);
            self.graph.edges[state].push((next.ix() * self.graph.vcs as usize) as u32 + next_vc);
            self.report.dependencies += 1;
        }
    }
}

/// Groups the hosts; hosts with a row, and those that do not hang on a forwarding node, are alone.
fn group_sources(net: &Network, tables: &Tables) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut at_node: Vec<Vec<usize>> = vec![Vec::new(); net.nodes().len()];
    for (i, &node) in net.hosts().iter().enumerate() {
        let host = HostId(i as u32);
        let mut cables = net.out(node);
        let only = cables.next().filter(|_| cables.next().is_none() && tables.row(node).is_none());
        let first = only.filter(|&c| net.forwards(net.to(c)) && !net.forwards(node));
        let Some(first) = first else {
            groups.push(Group { first: None, hosts: vec![host] });
            continue;
        };
        let near = net.to(first);
        let alike = |g: &&usize| groups[**g].first.is_some_and(|c| same_turns(net, tables, near, c, first));
        match at_node[near.ix()].iter().find(alike) {
            Some(&group) => groups[group].hosts.push(host),
            None => {
                at_node[near.ix()].push(groups.len());
                groups.push(Group { first: Some(first), hosts: vec![host] });
            }
        }
    }
    groups
}

/// Whether packets from two channels into a node turn alike.
fn same_turns(net: &Network, tables: &Tables, node: NodeId, a: ChannelId, b: ChannelId) -> bool {
    let Some(row) = tables.row(node) else { return true };
    let rule = |channel: ChannelId, port: usize| tables.turn(row, net.in_port(channel), Port(port as u16));
    (0..net.ports(node)).all(|port| rule(a, port) == rule(b, port))
}
