//! Walks the tables for all pairs. Per destination, what happens from a node on is found once, whichever packet
//! asks. Virtual channels are followed as sets of bits, from the far nodes to the near ones; where a packet does not
//! arrive, or where there are too many of them for a word, source by source.

use super::distance::Needed;
use super::flat::{Flat, NONE};
use super::groups::{Group, group_sources};
use super::{Fault, FaultKind, Report};
use crate::network::{ChannelId, HostId, Network, NodeId};
use crate::tables::{Tables, TurnRule};
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
    way: u32,
    /// The channel that packets leave by.
    next: u32,
    /// The virtual channels that they do so on.
    lanes: u64,
}

/// Ways that are no number of cables: under way, and from `FAILS` on indices of `failures`.
const PENDING: u32 = u32::MAX;
const FAILS: u32 = 1 << 31;

pub(super) struct Walk<'a> {
    flat: Flat<'a>,
    witnesses: usize,
    report: Report,
    graph: Graph,
    /// By turn and virtual channel: whether it is in the graph.
    present: Vec<u64>,
    marks: Vec<Mark>,
    /// Nodes with a known way to the destination, each after the one that it sends to.
    resolved: Vec<u32>,
    failures: Vec<FaultKind>,
    groups: Vec<Group>,
    /// By state: the destination for which it was followed, plus 1; made when first needed.
    seen: Vec<u32>,
    /// States from which packets of the present destination come to exceed the virtual channels, and where.
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
            let way = match group.first {
                // A group's first cable leads to a node that forwards.
                Some(first) => match self.way(self.flat.to(first), to, goal, column) {
                    way if way < FAILS => way + 1,
                    way => way,
                },
                None => self.way(source, to, goal, column),
            };
            let least = needed.from(&self.flat, source, goal);
            sound &= way < FAILS && least.is_some();
            senders.push(Sender { group, own: i == own, source, way, least });
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
                let (cables, least) = (sender.way, sender.least.unwrap_or(sender.way));
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

    /// What the host that stands for its group meets on its own first cable, its fellows meet on theirs.
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

    /// Whether a sender's packets arrive, followed by themselves. Even a packet that never arrives occupies channels
    /// on its way.
    fn examine(&mut self, sender: &Sender, to: HostId, goal: u32, column: &[u16]) -> Result<(), FaultKind> {
        if sender.least.is_none() {
            return Err(FaultKind::Disconnected);
        }
        let exceeds = self.flat.hop(sender.source, column).ok().and_then(|first| {
            let vc = self.flat.start(sender.source, first, to);
            self.follow(first, vc, to, goal, column)
        });
        match (self.failure(sender.way), exceeds) {
            (Some(kind), _) => Err(kind),
            (None, Some((channel, vc))) => {
                Err(FaultKind::ChannelExceeded { channel: ChannelId(channel), vc })
            }
            (None, None) => Ok(()),
        }
    }

    fn failure(&self, way: u32) -> Option<FaultKind> {
        match way {
            PENDING => Some(FaultKind::Loop),
            way => way.checked_sub(FAILS).and_then(|i| self.failures.get(i as usize)).copied(),
        }
    }

    fn fail(&mut self, kind: FaultKind) -> u32 {
        self.failures.push(kind);
        FAILS + (self.failures.len() - 1) as u32
    }

    /// Follows ports from a node; remembers the result for all nodes on the way.
    fn way(&mut self, start: u32, to: HostId, goal: u32, column: &[u16]) -> u32 {
        let stamp = to.0 + 1;
        let first = self.resolved.len();
        let mut node = start;
        let mut result = loop {
            if node == goal {
                break 0;
            }
            // A host that does not relay may start a path, but a packet that comes to it (be it back) ends there.
            if self.resolved.len() > first && !self.flat.passes[node as usize] {
                break self.fail(FaultKind::WrongHost { node: NodeId(node) });
            }
            let mark = self.marks[node as usize];
            if mark.stamp == stamp {
                break if mark.way == PENDING { self.fail(FaultKind::Loop) } else { mark.way };
            }
            match self.flat.hop(node, column) {
                Err(kind) => {
                    let way = self.fail(kind);
                    self.marks[node as usize] = Mark { stamp, way, next: NONE, lanes: 0 };
                    break way;
                }
                Ok(next) => {
                    self.marks[node as usize] = Mark { stamp, way: PENDING, next, lanes: 0 };
                    self.resolved.push(node);
                    node = self.flat.to(next);
                }
            }
        };
        self.resolved[first..].reverse();
        for &node in &self.resolved[first..] {
            result += u32::from(result < FAILS);
            self.marks[node as usize].way = result;
        }
        result
    }

    /// Follows the virtual channels of all packets to a destination to which all arrive, entering every dependency
    /// into the graph; false if some exceed them.
    fn spread(&mut self, senders: &[Sender], to: HostId, goal: u32) -> bool {
        let limit = u64::MAX >> (u64::BITS - self.graph.vcs);
        let mut used = 0;
        for sender in senders {
            let (first, node) = match sender.group.first {
                Some(first) => (first, self.flat.to(first)),
                None => (self.marks[sender.source as usize].next, sender.source),
            };
            let vc = self.flat.start(sender.source, first, to);
            if vc >= self.graph.vcs {
                return false;
            }
            used |= 1 << vc;
            if sender.group.first.is_none() {
                self.marks[node as usize].lanes |= 1 << vc;
            } else if node != goal {
                let rule = self.flat.turn(first, self.marks[node as usize].next);
                let Some(lanes) = apply(rule, 1 << vc, limit) else { return false };
                self.marks[node as usize].lanes |= lanes;
            }
        }
        for at in (0..self.resolved.len()).rev() {
            let Mark { next: channel, lanes, .. } = self.marks[self.resolved[at] as usize];
            used |= lanes;
            let node = self.flat.to(channel);
            if node == goal || lanes == 0 {
                continue;
            }
            let next = self.marks[node as usize].next;
            let rule = self.flat.turn(channel, next);
            let Some(after) = apply(rule, lanes, limit) else { return false };
            self.marks[node as usize].lanes |= after;
            if self.flat.inner(channel, next) {
                self.depend_on_lanes(channel, next, rule, lanes);
            }
        }
        self.report.vcs = self.report.vcs.max(u64::BITS - used.leading_zeros());
        true
    }

    /// Enters the dependencies of several virtual channels.
    fn depend_on_lanes(&mut self, channel: u32, next: u32, rule: TurnRule, lanes: u64) {
        let bit = self.flat.turn_number(channel, next) * self.graph.vcs as usize;
        let (word, shift) = (bit / 64, bit % 64);
        let mut present = self.present[word] >> shift;
        if shift > 0 && shift + self.graph.vcs as usize > 64 {
            present |= self.present[word + 1] << (64 - shift);
        }
        let mut missing = lanes & !present;
        while missing != 0 {
            let vc = missing.trailing_zeros();
            self.depend(channel, vc, next, rule.apply(vc));
            missing &= missing - 1;
        }
    }

    /// Follows virtual channels from a first channel on, entering every dependency into the graph; the channel and
    /// virtual channel where they are exceeded.
    fn follow(&mut self, first: u32, vc: u32, to: HostId, goal: u32, column: &[u16]) -> Option<(u32, u32)> {
        if self.seen.is_empty() {
            self.seen = vec![0; self.graph.states];
        }
        let (mut channel, mut vc) = (first, vc);
        let mut passed = Vec::new();
        let exceeds = loop {
            if vc >= self.graph.vcs {
                break Some((channel, vc));
            }
            self.report.vcs = self.report.vcs.max(vc + 1);
            let state = channel * self.graph.vcs + vc;
            if self.seen[state as usize] == to.0 + 1 {
                break self.exceeding.get(&state).copied();
            }
            self.seen[state as usize] = to.0 + 1;
            passed.push(state);
            let node = self.flat.to(channel);
            if node == goal || !self.flat.passes[node as usize] {
                break None;
            }
            let Ok(next) = self.flat.hop(node, column) else { break None };
            let next_vc = self.flat.turn(channel, next).apply(vc);
            if self.flat.inner(channel, next) {
                self.depend(channel, vc, next, next_vc);
            }
            (channel, vc) = (next, next_vc);
        };
        if let Some(place) = exceeds {
            self.exceeding.extend(passed.into_iter().map(|state| (state, place)));
        }
        exceeds
    }

    /// Enters a dependency, unless it is there or leads to a virtual channel that does not exist.
    fn depend(&mut self, channel: u32, vc: u32, next: u32, next_vc: u32) {
        let vcs = self.graph.vcs;
        let bit = self.flat.turn_number(channel, next) * vcs as usize + vc as usize;
        let word = &mut self.present[bit / 64];
        if next_vc < vcs && *word & (1 << (bit % 64)) == 0 {
            *word |= 1 << (bit % 64);
            self.graph.edges.push((channel * vcs + vc, next * vcs + next_vc));
            self.report.dependencies += 1;
        }
    }
}

/// A group of sources and what becomes of its packets to a destination.
struct Sender<'g> {
    group: &'g Group,
    /// Whether the destination is one of the group.
    own: bool,
    /// The host that stands for all.
    source: u32,
    way: u32,
    least: Option<u32>,
}

/// What a rule makes of a set of virtual channels; `None` if one exceeds the limit.
fn apply(rule: TurnRule, lanes: u64, limit: u64) -> Option<u64> {
    let after = match rule {
        TurnRule::Keep => lanes,
        TurnRule::Raise => return (lanes & !(limit >> 1) == 0).then_some(lanes << 1),
        TurnRule::Set(vc) if lanes != 0 => 1u64.checked_shl(u32::from(vc))?,
        TurnRule::Set(_) => 0,
    };
    (after & !limit == 0).then_some(after)
}
