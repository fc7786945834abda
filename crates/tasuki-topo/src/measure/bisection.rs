//! Bisection: the least capacity, in one direction, between two halves of the hosts. Exact where the search
//! can finish; otherwise an interval, with a rigorous bound on either side.

use super::distance::{levels, twin_hosts};
use super::partition::Partition;
use super::search::search;
use crate::network::{ChannelId, HostId, Network, NodeId};

/// What the capacity of a cut counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Every working cable counts 1.
    Cables,
    /// Every working cable counts its rate in one direction, bit/s.
    BitsPerSecond,
}

impl Count {
    pub(super) fn of(self, net: &Network, channel: ChannelId) -> u64 {
        match self {
            Count::Cables => 1,
            Count::BitsPerSecond => net.rate_bps(channel),
        }
    }
}

/// Result of [`bisection()`]. The truth lies in `lower..=upper`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bisection {
    /// No two halves of the hosts have a smaller cut.
    pub lower: u64,
    /// Cut of the halves in `side`.
    pub upper: u64,
    /// One half of the hosts, which attains `upper`.
    pub side: Vec<HostId>,
}

impl Bisection {
    /// The bisection, if it is known exactly.
    pub fn exact(&self) -> Option<u64> {
        (self.lower == self.upper).then_some(self.upper)
    }
}

/// Default effort of [`bisection()`]: about a second at most in an optimised build.
pub const DEFAULT_EFFORT: u64 = 400_000_000;

/// The least cut over all choices of half of the hosts (rounded up or down). Switches go to the side where
/// they cut least, and hosts may be on another side than their switch. `effort` bounds the elementary steps
/// of the search, so that the result does not depend on the machine.
pub fn bisection(net: &Network, count: Count, effort: u64) -> Bisection {
    let mut partition = Partition::new(net, count, effort);
    let (upper, side) = partition.improve();
    let by_flow = flow_bound(net, count).min(upper);
    if by_flow == upper {
        return Bisection { lower: upper, upper, side };
    }
    let (upper, side, complete) = search(&mut partition, upper, side, by_flow);
    Bisection { lower: if complete { upper } else { by_flow.min(upper) }, upper, side }
}

/// A lower bound by traffic: if every ordered pair of hosts can send `t` at once, then any cut between halves
/// A and B carries at least `t * |A| * |B|`. The traffic takes all shortest paths, split evenly at every
/// node.
fn flow_bound(net: &Network, count: Count) -> u64 {
    let load = all_to_all_load(net);
    let Some(load) = load else { return 0 };
    let rate = load.iter().enumerate().filter(|&(_, &l)| l > 0.0).map(|(c, &l)| {
        let capacity = count.of(net, ChannelId(c as u32));
        capacity as f64 / l
    });
    let rate = rate.fold(f64::INFINITY, f64::min);
    let hosts = net.hosts().len() as f64;
    let bound = rate * (hosts / 2.0).floor() * (hosts / 2.0).ceil();
    // The loads are sums of rounded terms. A margin of 1e-9 covers the rounding, so that the bound stays a
    // bound.
    if bound.is_finite() { (bound * (1.0 - 1e-9)).ceil() as u64 } else { 0 }
}

/// Load of every channel when every host sends 1 to every other over all shortest paths, split evenly at
/// every node; `None` if some pair is unconnected. Paths are the shorter the fewer cables they have, which
/// suits a bound and a network of switches that route; hosts of a cluster count relays, not switches.
pub(crate) fn all_to_all_load(net: &Network) -> Option<Vec<f64>> {
    let mut total = vec![0.0; net.channels()];
    let (mut level, mut queue) = (Vec::new(), Vec::new());
    for group in twin_hosts(net) {
        let root = net.hosts()[group[0].ix()];
        levels(net, root, &mut level, &mut queue);
        if net.hosts().iter().any(|h| level[h.ix()] == u32::MAX) {
            return None;
        }
        let load = load_towards(net, root, &level, &queue);
        let members: Vec<NodeId> = group.iter().map(|h| net.hosts()[h.ix()]).collect();
        spread_over_group(net, &members, &load, &mut total);
    }
    Some(total)
}

/// Load of every channel when every other host sends 1 to `root`.
fn load_towards(net: &Network, root: NodeId, level: &[u32], order: &[NodeId]) -> Vec<f64> {
    let mut load = vec![0.0; net.channels()];
    let mut waiting = vec![0.0; net.nodes().len()];
    for &node in order.iter().rev().filter(|&&n| n != root) {
        let own = if net.host_of(node).is_some() { 1.0 } else { 0.0 };
        let amount = waiting[node.ix()] + own;
        let next = |c: &ChannelId| {
            let to = net.to(*c);
            level[to.ix()] + 1 == level[node.ix()] && (to == root || net.forwards(to))
        };
        let channels = net.out(node).filter(next).count() as f64;
        for channel in net.out(node).filter(next) {
            load[channel.ix()] += amount / channels;
            waiting[net.to(channel).ix()] += amount / channels;
        }
    }
    load
}

/// Adds the loads towards all members of a group, given those towards the first. Exchanging two members maps
/// the network onto itself, so that every channel that touches none of them carries the same load for each
/// destination.
fn spread_over_group(net: &Network, members: &[NodeId], load: &[f64], total: &mut [f64]) {
    if members.len() == 1 {
        total.iter_mut().zip(load).for_each(|(t, l)| *t += l);
        return;
    }
    let others = (members.len() - 1) as f64;
    let mut touches = vec![false; net.channels()];
    let by_neighbour = |node: NodeId| {
        let mut channels: Vec<ChannelId> = net.out(node).collect();
        channels.sort_by_key(|&c| (net.to(c), c));
        channels
    };
    let (first, second) = (by_neighbour(members[0]), by_neighbour(members[1]));
    for &member in members {
        for (i, channel) in by_neighbour(member).into_iter().enumerate() {
            touches[channel.ix()] = true;
            touches[channel.reverse().ix()] = true;
            total[channel.reverse().ix()] += load[first[i].reverse().ix()];
            // A member sends to each of the others what the second one sends to the first.
            total[channel.ix()] += load[second[i].ix()] * others;
        }
    }
    for (c, &l) in load.iter().enumerate().filter(|&(c, _)| !touches[c]) {
        total[c] += l * (others + 1.0);
    }
}
