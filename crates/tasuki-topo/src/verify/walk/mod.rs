//! Walks the tables for all pairs of hosts. For each destination, what becomes of packets from a node on is
//! found once and serves all packets that pass this node. Virtual channels are followed as sets of bits, from
//! the far nodes to the near ones. Where some packet does not arrive, or where there are more virtual
//! channels than bits in a word, they are followed source by source.

mod channels;

use super::distance::Needed;
use super::flat::{Flat, NONE};
use super::groups::{Group, group_sources};
use super::{Fault, FaultKind, Report};
use crate::network::{ChannelId, HostId, Network, NodeId};
use crate::tables::Tables;
use std::collections::HashMap;

/// The channel dependency graph: states are numbered `channel * vcs + vc`.
pub(super) struct Graph {
    pub vcs: u32,
    pub states: usize,
    pub edges: Vec<(u32, u32)>,
}

pub(super) struct Walked {
    pub report: Report,
    pub graph: Graph,
}

/// What is known of a node for the destination whose number, plus 1, is the stamp.
#[derive(Clone, Copy, Default)]
struct Mark {
    stamp: u32,
    /// What becomes of packets from here on: below `FAILS` the number of cables to the destination, otherwise
    /// see the constants.
    outcome: u32,
    /// The channel that packets leave the node by.
    next: u32,
    /// The virtual channels on which packets leave the node, as bits.
    lanes: u64,
}

/// The outcome of a node on the path that is being followed: to meet such a node again is a loop.
const PENDING: u32 = u32::MAX;
/// The outcome `FAILS + i` stands for `failures[i]`.
const FAILS: u32 = 1 << 31;

pub(super) struct Walk<'a> {
    flat: Flat<'a>,
    witnesses: usize,
    report: Report,
    graph: Graph,
    /// A bit for each turn and virtual channel (`turn * vcs + vc`): whether it is in the graph.
    present: Vec<u64>,
    marks: Vec<Mark>,
    /// Nodes whose packets arrive or fail for a known reason, each after the node that it sends to.
    resolved: Vec<u32>,
    failures: Vec<FaultKind>,
    groups: Vec<Group>,
    /// `[state]`: the destination for which it was followed last, plus 1. Empty until first needed.
    seen: Vec<u32>,
    /// States from which packets to the present destination get beyond the last virtual channel, with the
    /// channel and the virtual channel where this happens.
    exceeding: HashMap<u32, (u32, u32)>,
}

impl<'a> Walk<'a> {
    pub fn new(net: &'a Network, tables: &'a Tables, witnesses: usize) -> Self {
        let vcs = u32::from(tables.vcs().max(1));
        let flat = Flat::new(net, tables);
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
        Self {
            present: vec![0; (flat.turns * vcs as usize).div_ceil(64)],
            graph: Graph { vcs, states: net.channels() * vcs as usize, edges: Vec::new() },
            groups: group_sources(net, tables),
            marks: vec![Mark::default(); net.nodes().len()],
            flat,
            witnesses,
            report,
            resolved: Vec::new(),
            failures: Vec::new(),
            seen: Vec::new(),
            exceeding: HashMap::new(),
        }
    }

    pub fn run(mut self) -> Walked {
        let mut needed = Needed::new(&self.flat);
        let groups = std::mem::take(&mut self.groups);
        let mut group_of = vec![usize::MAX; self.flat.net.hosts().len()];
        for (i, group) in groups.iter().enumerate() {
            group.hosts.iter().for_each(|h| group_of[h.ix()] = i);
        }
        for (number, &goal) in self.flat.net.hosts().iter().enumerate() {
            let to = HostId(number as u32);
            needed.towards(&self.flat, goal.0);
            self.towards(&groups, group_of[number], to, goal.0, &needed);
        }
        Walked { report: self.report, graph: self.graph }
    }

    /// Examines all sources of packets to one destination.
    fn towards(&mut self, groups: &[Group], own: usize, to: HostId, goal: u32, needed: &Needed) {
        let column = self.flat.tables.column(to);
        self.resolved.clear();
        self.failures.clear();
        self.exceeding.clear();
        let mut sound = self.graph.vcs <= u64::BITS;
        let mut senders = Vec::with_capacity(groups.len());
        for (i, group) in groups.iter().enumerate() {
            let Some(stands) = group.hosts.iter().copied().find(|&h| h != to) else { continue };
            let source = self.flat.net.hosts()[stands.ix()].0;
            let outcome = match group.first {
                // A group's first cable leads to a node that forwards.
                Some(first) => match self.outcome(self.flat.to(first), to, goal, column) {
                    cables if cables < FAILS => cables + 1,
                    failure => failure,
                },
                None => self.outcome(source, to, goal, column),
            };
            let least = needed.from(&self.flat, source, goal);
            sound &= outcome < FAILS && least.is_some();
            senders.push(Sender { group, own: i == own, source, outcome, least });
        }
        let sound = sound && self.spread(&senders, to, goal);
        let mut faults = Vec::new();
        for sender in &senders {
            let count = sender.group.hosts.len() as u64 - u64::from(sender.own);
            let outcome = if sound { Ok(()) } else { self.examine(sender, to, goal, column) };
            self.tally(outcome, count, sender, to, &mut faults);
        }
        let room = self.witnesses.saturating_sub(self.report.faults.len());
        faults.sort_unstable();
        self.report.faults.extend(faults.into_iter().take(room));
    }

    fn tally(
        &mut self,
        outcome: Result<(), FaultKind>,
        count: u64,
        sender: &Sender,
        to: HostId,
        faults: &mut Vec<Fault>,
    ) {
        let kind = match outcome {
            Ok(()) => {
                let (cables, least) = (sender.outcome, sender.least.unwrap_or(sender.outcome));
                self.report.delivered += count;
                self.report.cables += u64::from(cables) * count;
                self.report.cables_max = self.report.cables_max.max(cables);
                if cables > least {
                    self.report.longer += count;
                    self.report.excess_max = self.report.excess_max.max(cables - least);
                }
                return;
            }
            Err(kind) => kind,
        };
        self.report.faulty += count;
        let fault = |&from: &HostId| Fault { from, to, kind: self.own_fault(kind, from) };
        faults.extend(sender.group.hosts.iter().filter(|&&h| h != to).map(fault));
    }

    /// The fault of one host of a group, given that of the host that stands for the group: where that one
    /// exceeds the virtual channels on its own first cable, each of the others does so on its own.
    fn own_fault(&self, kind: FaultKind, host: HostId) -> FaultKind {
        let net = self.flat.net;
        let own = net.out(net.hosts()[host.ix()]).next();
        match (kind, own) {
            (FaultKind::ChannelExceeded { channel, vc }, Some(own)) if !net.forwards(net.from(channel)) => {
                let several = net.from(channel) == net.from(own);
                FaultKind::ChannelExceeded { channel: if several { channel } else { own }, vc }
            }
            _ => kind,
        }
    }

    /// Follows the packets of one sender by themselves: whether they arrive. Even a packet that never arrives
    /// occupies channels on its path, so that its dependencies count.
    fn examine(&mut self, sender: &Sender, to: HostId, goal: u32, column: &[u16]) -> Result<(), FaultKind> {
        if sender.least.is_none() {
            return Err(FaultKind::Disconnected);
        }
        let exceeds = self.flat.hop(sender.source, column).ok().and_then(|first| {
            let vc = self.flat.start(sender.source, first, to);
            self.follow(first, vc, to, goal, column)
        });
        match (self.failure(sender.outcome), exceeds) {
            (Some(kind), _) => Err(kind),
            (None, Some((channel, vc))) => {
                Err(FaultKind::ChannelExceeded { channel: ChannelId(channel), vc })
            }
            (None, None) => Ok(()),
        }
    }

    fn failure(&self, outcome: u32) -> Option<FaultKind> {
        match outcome {
            PENDING => Some(FaultKind::Loop),
            outcome => outcome.checked_sub(FAILS).and_then(|i| self.failures.get(i as usize)).copied(),
        }
    }

    fn fail(&mut self, kind: FaultKind) -> u32 {
        self.failures.push(kind);
        FAILS + (self.failures.len() - 1) as u32
    }

    /// Follows the ports from a node to the end of the path, and stores the outcome of all nodes on it.
    fn outcome(&mut self, start: u32, to: HostId, goal: u32, column: &[u16]) -> u32 {
        let stamp = to.0 + 1;
        let first = self.resolved.len();
        let mut node = start;
        let mut result = loop {
            if node == goal {
                break 0;
            }
            // A host that does not relay may start a path, but a packet that comes to it, or back to it, ends
            // there.
            if self.resolved.len() > first && !self.flat.passes[node as usize] {
                break self.fail(FaultKind::WrongHost { node: NodeId(node) });
            }
            let mark = self.marks[node as usize];
            if mark.stamp == stamp {
                break if mark.outcome == PENDING { self.fail(FaultKind::Loop) } else { mark.outcome };
            }
            match self.flat.hop(node, column) {
                Err(kind) => {
                    let outcome = self.fail(kind);
                    self.marks[node as usize] = Mark { stamp, outcome, next: NONE, lanes: 0 };
                    break outcome;
                }
                Ok(next) => {
                    self.marks[node as usize] = Mark { stamp, outcome: PENDING, next, lanes: 0 };
                    self.resolved.push(node);
                    node = self.flat.to(next);
                }
            }
        };
        self.resolved[first..].reverse();
        for &node in &self.resolved[first..] {
            result += u32::from(result < FAILS);
            self.marks[node as usize].outcome = result;
        }
        result
    }
}

/// A group of sources, and what becomes of its packets to a destination.
struct Sender<'g> {
    group: &'g Group,
    /// Whether the destination is one of the group.
    own: bool,
    /// The host that stands for all.
    source: u32,
    /// See [`Mark::outcome`], here from the source itself.
    outcome: u32,
    /// Cables of a shortest path; `None` if there is none.
    least: Option<u32>,
}
