//! The most that any routing could give all flows at once (maximum concurrent flow), paths split at will: an
//! interval with a proof on either side.
//!
//! Garg and Koenemann 1998, in phases after Fleischer 2000: every phase routes all demands over paths that
//! are shortest under lengths that grow with use. After `p` phases the flow, divided by its worst overload,
//! is feasible, which gives a lower bound. By linear programming duality any lengths give an upper bound:
//! (sum of capacity * length) / (sum of demand * shortest length). Both are checked after every phase and the
//! best are kept, so the interval is right however early it stops.

use super::Traffic;
use crate::network::{ChannelId, Network, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An interval that holds the greatest rate per unit of demand that all flows can reach at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Concurrent {
    /// A flow with this rate exists, bit/s.
    pub lower_bps: f64,
    /// No flow exceeds this rate, bit/s.
    pub upper_bps: f64,
    /// Phases until the interval was narrow enough, or until the limit.
    pub phases: u32,
}

/// Limit of phases of [`super::bounds()`].
pub const MAX_PHASES: u32 = 4000;

/// Computes the interval until `upper <= lower * (1 + epsilon)` or `max_phases` are done. Without flows, both
/// are infinite; with flows between hosts that are unconnected or do not exist, both are 0.
pub fn concurrent(net: &Network, traffic: &Traffic, epsilon: f64, max_phases: u32) -> Concurrent {
    let nothing = Concurrent { lower_bps: 0.0, upper_bps: 0.0, phases: 0 };
    if traffic.flows.iter().any(|f| f.from.max(f.to).ix() >= net.hosts().len()) {
        return nothing;
    }
    let access = access_bound(net, traffic);
    let problem = Problem::new(net, traffic);
    if problem.commodities.is_empty() {
        return Concurrent { lower_bps: access, upper_bps: access, phases: 0 };
    }
    let epsilon = epsilon.clamp(1e-4, 0.5);
    let mut solver = Solver::new(&problem, epsilon / 2.0);
    let mut best = Concurrent { lower_bps: 0.0, upper_bps: access, phases: 0 };
    // The demands are scaled by the first upper bound, so that one phase does not overload a channel many
    // times.
    for phase in 0..max_phases.max(1) {
        let Some(upper) = solver.upper() else {
            return nothing;
        };
        best.upper_bps = best.upper_bps.min(upper);
        if phase == 0 {
            solver.scale = upper;
        }
        if best.upper_bps <= best.lower_bps * (1.0 + epsilon) {
            break;
        }
        solver.phase();
        best.lower_bps = best.lower_bps.max(solver.lower().min(access));
        best.phases = phase + 1;
    }
    best.lower_bps = best.lower_bps.min(best.upper_bps);
    best
}

/// The bound by the cables of each host: whatever the routing, they carry all that the host sends or
/// receives.
fn access_bound(net: &Network, traffic: &Traffic) -> f64 {
    let hosts = net.hosts().len();
    let (mut sends, mut gets) = (vec![0.0; hosts], vec![0.0; hosts]);
    for flow in &traffic.flows {
        sends[flow.from.ix()] += flow.demand;
        gets[flow.to.ix()] += flow.demand;
    }
    let mut bound = f64::INFINITY;
    for (i, &node) in net.hosts().iter().enumerate() {
        let capacity: f64 = net.out(node).map(|c| net.rate_bps(c) as f64).sum();
        for load in [sends[i], gets[i]] {
            if load > 0.0 {
                bound = bound.min(capacity / load);
            }
        }
    }
    bound
}

/// The flows between the nodes where they enter and leave; cables of single-cabled hosts are left to
/// [`access_bound`].
struct Problem<'n> {
    net: &'n Network,
    /// Each source node with its targets and their demands.
    commodities: Vec<(NodeId, Vec<(NodeId, f64)>)>,
    /// `[channel]`: bit/s.
    rate: Vec<f64>,
}

impl<'n> Problem<'n> {
    fn new(net: &'n Network, traffic: &Traffic) -> Self {
        let place = |host: NodeId| {
            let mut cables = net.out(host);
            let only = cables.next().filter(|_| cables.next().is_none() && !net.forwards(host));
            only.map(|c| net.to(c)).filter(|&n| net.forwards(n)).unwrap_or(host)
        };
        let mut demands = std::collections::BTreeMap::new();
        for flow in traffic.flows.iter().filter(|flow| flow.demand > 0.0) {
            let [from, to] = [flow.from, flow.to].map(|h| place(net.hosts()[h.ix()]));
            if from != to {
                *demands.entry((from, to)).or_insert(0.0) += flow.demand;
            }
        }
        let mut commodities: Vec<(NodeId, Vec<(NodeId, f64)>)> = Vec::new();
        for ((from, to), demand) in demands {
            match commodities.last_mut() {
                Some((source, targets)) if *source == from => targets.push((to, demand)),
                _ => commodities.push((from, vec![(to, demand)])),
            }
        }
        let rate = (0..net.channels() as u32).map(|c| net.rate_bps(ChannelId(c)) as f64).collect();
        Self { net, commodities, rate }
    }
}

/// The state of the iteration.
struct Solver<'p, 'n> {
    problem: &'p Problem<'n>,
    /// By what fraction a channel's length grows when a phase fills it.
    step: f64,
    /// Rate per unit of demand that a phase routes, bit/s.
    scale: f64,
    /// `[channel]`: its length.
    length: Vec<f64>,
    /// `[channel]`: what all phases so far sent over it, bit/s.
    used: Vec<f64>,
    phases: f64,
    /// `[node]`: length of the shortest path from the source at hand.
    distance: Vec<f64>,
    /// `[node]`: the last channel of that path.
    by: Vec<Option<ChannelId>>,
    /// The nodes reached, the nearest first.
    settled: Vec<NodeId>,
    heap: BinaryHeap<(Reverse<u64>, Reverse<NodeId>)>,
}

impl<'p, 'n> Solver<'p, 'n> {
    fn new(problem: &'p Problem<'n>, step: f64) -> Self {
        let nodes = problem.net.nodes().len();
        Self {
            problem,
            step,
            scale: 1.0,
            length: problem.rate.iter().map(|r| 1.0 / r).collect(),
            used: vec![0.0; problem.rate.len()],
            phases: 0.0,
            distance: vec![f64::INFINITY; nodes],
            by: vec![None; nodes],
            settled: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Upper bound from the present lengths; `None` if some target cannot be reached.
    fn upper(&mut self) -> Option<f64> {
        let problem = self.problem;
        let mut needed = 0.0;
        for (source, targets) in &problem.commodities {
            self.shortest(*source);
            for (target, demand) in targets {
                if self.distance[target.ix()].is_infinite() {
                    return None;
                }
                needed += demand * self.distance[target.ix()];
            }
        }
        let up = |c: usize| problem.net.links()[c / 2].up;
        let volume: f64 =
            (0..self.length.len()).filter(|&c| up(c)).map(|c| self.length[c] * problem.rate[c]).sum();
        Some(volume / needed)
    }

    /// Rate per unit of demand that the phases so far prove.
    fn lower(&self) -> f64 {
        let worst = self.used.iter().zip(&self.problem.rate).map(|(u, r)| u / r).fold(0.0, f64::max);
        if worst > 0.0 { self.scale * self.phases / worst } else { 0.0 }
    }

    /// Routes all demands once.
    fn phase(&mut self) {
        let problem = self.problem;
        for (source, targets) in &problem.commodities {
            let mut left: Vec<f64> = targets.iter().map(|(_, demand)| demand * self.scale).collect();
            while left.iter().any(|&amount| amount > 0.0) {
                self.shortest(*source);
                let load = self.tree_load(targets, &left);
                // Only a share is sent at once, such that no channel gets more than its capacity; otherwise
                // lengths jump.
                let over = load.iter().map(|&(c, amount)| amount / problem.rate[c]).fold(0.0, f64::max);
                let share = if over > 1.0 { 1.0 / over } else { 1.0 };
                for (c, amount) in load {
                    self.used[c] += amount * share;
                    self.length[c] *= 1.0 + self.step * amount * share / problem.rate[c];
                }
                left.iter_mut()
                    .for_each(|amount| *amount = if share < 1.0 { *amount * (1.0 - share) } else { 0.0 });
            }
        }
        self.phases += 1.0;
        // Only ratios of lengths matter, so that they may be scaled down before they overflow.
        let largest = self.length.iter().zip(&problem.rate).map(|(l, r)| l * r).fold(0.0, f64::max);
        if largest > 1e100 {
            self.length.iter_mut().for_each(|l| *l /= largest);
        }
    }

    /// Load of the channels when `left` goes to the targets over the shortest-path tree.
    fn tree_load(&self, targets: &[(NodeId, f64)], left: &[f64]) -> Vec<(usize, f64)> {
        let mut waiting = vec![0.0; self.distance.len()];
        for ((target, _), amount) in targets.iter().zip(left) {
            waiting[target.ix()] += amount;
        }
        let mut load = Vec::new();
        for &node in self.settled.iter().rev() {
            if let Some(channel) = self.by[node.ix()].filter(|_| waiting[node.ix()] > 0.0) {
                load.push((channel.ix(), waiting[node.ix()]));
                waiting[self.problem.net.from(channel).ix()] += waiting[node.ix()];
            }
        }
        load
    }

    /// Finds shortest paths from a source (Dijkstra); paths pass only nodes that forward.
    fn shortest(&mut self, source: NodeId) {
        let net = self.problem.net;
        self.distance.fill(f64::INFINITY);
        self.by.fill(None);
        self.settled.clear();
        self.distance[source.ix()] = 0.0;
        // The heap orders distances by their bits, which for non-negative floats is the order of the floats.
        self.heap.push((Reverse(0), Reverse(source)));
        while let Some((Reverse(bits), Reverse(node))) = self.heap.pop() {
            if f64::from_bits(bits) > self.distance[node.ix()] {
                continue;
            }
            self.settled.push(node);
            if node != source && !net.forwards(node) {
                continue;
            }
            for channel in net.out(node) {
                let (to, distance) = (net.to(channel), f64::from_bits(bits) + self.length[channel.ix()]);
                if distance < self.distance[to.ix()] {
                    self.distance[to.ix()] = distance;
                    self.by[to.ix()] = Some(channel);
                    self.heap.push((Reverse(distance.to_bits()), Reverse(to)));
                }
            }
        }
    }
}
