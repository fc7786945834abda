//! Halving the hosts: local search for a good cut, branch and bound for a proof.
//!
//! Only nodes that forward, and hosts cabled to other hosts, need a search. Once they have a side, the
//! remaining hosts are placed optimally by sorting: each has a cost on side A and one on side B, and a given
//! number of hosts must go to side A.

use super::bisection::Count;
use super::distance::twin_hosts;
use crate::network::{HostId, Network, NodeId};
use crate::random::SplitMix64;

/// The side of a vertex, `Open` as long as it has none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Open,
    A,
    B,
}

/// Hosts that hang on the same searched vertices.
struct Group {
    hosts: Vec<HostId>,
    edges: Vec<(usize, u64)>,
}

/// The hosts to halve, and the graph of searched vertices.
pub(super) struct Partition {
    /// `[vertex]`: the host number, if the searched vertex is a host.
    vertices: Vec<Option<HostId>>,
    /// `[vertex]`: its neighbours, with the capacity to each.
    pub edges: Vec<Vec<(usize, u64)>>,
    groups: Vec<Group>,
    /// `[vertex]`: whether its side decides where hosts go: it has grouped hosts, or is a host itself.
    places: Vec<bool>,
    /// Numbers of hosts that side A may have.
    targets: [usize; 2],
    /// Elementary steps that remain.
    pub effort: u64,
    /// Elementary steps that evaluating a cut counts as.
    step_cut: u64,
    /// Elementary steps that evaluating a placement counts as.
    pub step_place: u64,
}

impl Partition {
    pub fn new(net: &Network, count: Count, effort: u64) -> Self {
        let searched = |node: NodeId| {
            let host_to_host = || net.out(node).any(|c| !net.forwards(net.to(c)));
            net.forwards(node) || host_to_host()
        };
        let mut index = vec![usize::MAX; net.nodes().len()];
        let nodes: Vec<NodeId> = (0..net.nodes().len() as u32).map(NodeId).filter(|&n| searched(n)).collect();
        for (i, node) in nodes.iter().enumerate() {
            index[node.ix()] = i;
        }
        let neighbours = |node: NodeId| {
            let all = net.out(node).map(|c| (index[net.to(c).ix()], count.of(net, c)));
            all.filter(|&(to, _)| to != usize::MAX).collect::<Vec<_>>()
        };
        let mut groups = Vec::new();
        for twins in twin_hosts(net) {
            if searched(net.hosts()[twins[0].ix()]) {
                continue;
            }
            // Hosts at the same switches may still differ in rates, so each rate pattern is a group of its
            // own.
            let mut kinds: Vec<Group> = Vec::new();
            for host in twins {
                let mut edges = neighbours(net.hosts()[host.ix()]);
                edges.sort_unstable();
                match kinds.iter_mut().find(|g| g.edges == edges) {
                    Some(group) => group.hosts.push(host),
                    None => kinds.push(Group { hosts: vec![host], edges }),
                }
            }
            groups.append(&mut kinds);
        }
        let edges: Vec<_> = nodes.iter().map(|&n| neighbours(n)).collect();
        let step_cut = (nodes.len() + edges.iter().map(Vec::len).sum::<usize>()) as u64;
        let step_place = (nodes.len() + 8 * groups.len()) as u64;
        let hosts = net.hosts().len();
        let vertices: Vec<_> = nodes.iter().map(|&n| net.host_of(n)).collect();
        let mut places: Vec<bool> = vertices.iter().map(Option::is_some).collect();
        groups.iter().flat_map(|g| &g.edges).for_each(|&(v, _)| places[v] = true);
        let targets = [hosts / 2, hosts.div_ceil(2)];
        Self { vertices, edges, groups, places, targets, effort, step_cut, step_place }
    }

    /// A good cut: several starts, each improved by passes that flip every vertex once, best first, and keep
    /// the best prefix (Fiduccia and Mattheyses).
    pub fn improve(&mut self) -> (u64, Vec<HostId>) {
        let mut random = SplitMix64::new(0);
        let mut best: Option<(u64, Vec<Side>)> = None;
        let budget = self.effort / 2;
        let mut spent = 0;
        for start in 0..8 {
            let mut sides = self.start(start, &mut random);
            let mut cost = self.cost(&sides);
            spent += self.step_cut + self.step_place;
            while let Some(better) = self.pass(&mut sides, cost, budget, &mut spent) {
                cost = better;
            }
            if best.as_ref().is_none_or(|&(c, _)| cost < c) {
                best = Some((cost, sides));
            }
            if spent > budget {
                break;
            }
        }
        self.effort = self.effort.saturating_sub(spent);
        let (cost, sides) = best.unwrap_or((0, Vec::new()));
        (cost, self.hosts_in_a(&sides))
    }

    /// Vertices in breadth-first order from `from`.
    pub fn order(&self, from: usize) -> Vec<usize> {
        let n = self.vertices.len();
        let (mut seen, mut order) = (vec![false; n], Vec::with_capacity(n));
        for start in (from..n).chain(0..from.min(n)) {
            if seen[start] {
                continue;
            }
            seen[start] = true;
            order.push(start);
            let mut head = order.len() - 1;
            while let Some(&v) = order.get(head) {
                head += 1;
                for &(to, _) in &self.edges[v] {
                    if !std::mem::replace(&mut seen[to], true) {
                        order.push(to);
                    }
                }
            }
        }
        order
    }

    /// The halves to start from, by `kind`: in the order of numbers (0), grown from a random vertex (1 to 4),
    /// or random.
    fn start(&self, kind: usize, random: &mut SplitMix64) -> Vec<Side> {
        let n = self.vertices.len();
        let mut order: Vec<usize> = (0..n).collect();
        match kind {
            0 => {}
            1..=4 => order = self.order(random.below(n)),
            _ => random.shuffle(&mut order),
        }
        let mut weight: Vec<usize> = self.vertices.iter().map(|h| usize::from(h.is_some())).collect();
        for group in &self.groups {
            if let Some(&(v, _)) = group.edges.first() {
                weight[v] += group.hosts.len();
            }
        }
        let mut sides = vec![Side::B; n];
        let mut taken = 0;
        for v in order {
            if taken < self.targets[0] {
                sides[v] = Side::A;
                taken += weight[v];
            }
        }
        sides
    }

    /// Makes one pass of flips; returns the new cost if it is less.
    fn pass(&self, sides: &mut Vec<Side>, cost: u64, budget: u64, spent: &mut u64) -> Option<u64> {
        let n = sides.len();
        let mut free = vec![true; n];
        let mut trial = sides.clone();
        let (mut cut, mut placed) = (self.cut(&trial), self.placed(&trial));
        let mut best = cost;
        for _ in 0..n {
            let mut choice: Option<(u64, u64, usize, u64)> = None;
            for v in (0..n).filter(|&v| free[v]) {
                *spent += self.edges[v].len() as u64 + if self.places[v] { self.step_place } else { 0 };
                if *spent > budget {
                    return (best < cost).then_some(best);
                }
                let (cut_then, placed_then) = self.after_flip(&mut trial, v, cut, placed);
                let c = cut_then.saturating_add(placed_then);
                if choice.is_none_or(|(least, ..)| c < least) {
                    choice = Some((c, cut_then, v, placed_then));
                }
            }
            let Some((c, cut_then, v, placed_then)) = choice else { break };
            flip(&mut trial[v]);
            (cut, placed, free[v]) = (cut_then, placed_then, false);
            if c < best {
                best = c;
                sides.clone_from(&trial);
            }
        }
        (best < cost).then_some(best)
    }

    /// The cut, and the cost of the placement, after a vertex would have changed sides.
    fn after_flip(&self, sides: &mut [Side], v: usize, cut: u64, placed: u64) -> (u64, u64) {
        let sum = |same: bool| {
            let edges = self.edges[v].iter().filter(|e| (sides[e.0] == sides[v]) == same);
            edges.map(|e| e.1).sum::<u64>()
        };
        let cut = cut + sum(true) - sum(false);
        if !self.places[v] {
            return (cut, placed);
        }
        flip(&mut sides[v]);
        let placed = self.placed(sides);
        flip(&mut sides[v]);
        (cut, placed)
    }

    fn hosts_on(&self, side: Side, sides: &[Side]) -> usize {
        sides.iter().zip(&self.vertices).filter(|&(s, h)| *s == side && h.is_some()).count()
    }

    /// For every group: the cost of one of its hosts on side A and on side B, and the number of the group;
    /// those that gain most from side A come first. Open vertices cost 0.
    fn placements(&self, sides: &[Side]) -> Vec<(u64, u64, usize)> {
        let costs = self.groups.iter().enumerate().map(|(i, group)| {
            let sum =
                |side: Side| group.edges.iter().filter(|e| sides[e.0] == side).map(|e| e.1).sum::<u64>();
            (sum(Side::B), sum(Side::A), i)
        });
        let mut costs: Vec<_> = costs.collect();
        costs.sort_unstable_by_key(|&(a, b, i)| (a as i128 - b as i128, i));
        costs
    }

    /// Least cost of placing the grouped hosts so that side A has between `least` and `most` hosts of them.
    fn place(&self, costs: &[(u64, u64, usize)], least: usize, most: usize) -> Option<u64> {
        let all: usize = self.groups.iter().map(|g| g.hosts.len()).sum();
        if least > all || least > most {
            return None;
        }
        let (mut cost, mut placed) = (0u64, 0);
        for &(a, b, i) in costs {
            let hosts = self.groups[i].hosts.len();
            // Beyond the least number, a host goes to side A only if that is cheaper.
            let wanted = if a < b { most } else { least };
            let here = wanted.saturating_sub(placed).min(hosts);
            cost += a * here as u64 + b * (hosts - here) as u64;
            placed += here;
        }
        Some(cost)
    }

    fn cut(&self, sides: &[Side]) -> u64 {
        let mut cut = 0;
        for (v, edges) in self.edges.iter().enumerate() {
            let across = |e: &&(usize, u64)| {
                e.0 > v && matches!((sides[v], sides[e.0]), (Side::A, Side::B) | (Side::B, Side::A))
            };
            cut += edges.iter().filter(across).map(|e| e.1).sum::<u64>();
        }
        cut
    }

    /// Cost of complete sides; `u64::MAX` where no placement halves the hosts.
    pub fn cost(&self, sides: &[Side]) -> u64 {
        self.placed(sides).saturating_add(self.cut(sides))
    }

    /// Cost of placing the grouped hosts such that the hosts are halved; `u64::MAX` where that cannot be.
    fn placed(&self, sides: &[Side]) -> u64 {
        let in_a = self.hosts_on(Side::A, sides);
        let costs = self.placements(sides);
        let exactly = |target: usize| target.checked_sub(in_a).and_then(|x| self.place(&costs, x, x));
        self.targets.iter().filter_map(|&t| exactly(t)).min().unwrap_or(u64::MAX)
    }

    /// A lower bound of the cost of placing the hosts for all completions of these sides.
    pub fn place_at_least(&self, sides: &[Side]) -> u64 {
        let (in_a, open) = (self.hosts_on(Side::A, sides), self.hosts_on(Side::Open, sides));
        let costs = self.placements(sides);
        let (low, high) = (self.targets[0].saturating_sub(in_a + open), self.targets[1].checked_sub(in_a));
        high.and_then(|high| self.place(&costs, low, high)).unwrap_or(u64::MAX)
    }

    /// The hosts on side A in the best placement for these sides.
    pub fn hosts_in_a(&self, sides: &[Side]) -> Vec<HostId> {
        let mut chosen: Vec<HostId> = Vec::new();
        let on_a = sides.iter().zip(&self.vertices).filter(|&(s, _)| *s == Side::A);
        chosen.extend(on_a.filter_map(|(_, host)| *host));
        let costs = self.placements(sides);
        let cost =
            |t: usize| t.checked_sub(chosen.len()).and_then(|x| self.place(&costs, x, x).map(|c| (c, t)));
        let target = self.targets.iter().filter_map(|&t| cost(t)).min().map_or(0, |(_, t)| t);
        for (_, _, i) in costs {
            let room = target.saturating_sub(chosen.len());
            chosen.extend(self.groups[i].hosts.iter().take(room));
        }
        chosen.sort_unstable();
        chosen
    }
}

fn flip(side: &mut Side) {
    *side = match side {
        Side::A => Side::B,
        _ => Side::A,
    };
}
