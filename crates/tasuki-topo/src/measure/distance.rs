//! Distances. Between hosts, the unit is the switch (or relaying host) that a packet passes, as in the
//! RHiNET-2 paper; between forwarding nodes it is the cable.

use crate::network::{HostId, Network, NodeId};
use std::collections::BTreeMap;

/// Whether an average over pairs of hosts includes the pairs of a host with itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfPairs {
    /// They count, with the one switch that the host is at (0 for a host without a switch). The RHiNET-2
    /// paper's averages follow this, with one exception.
    Included,
    /// They do not count. The paper's average for the fat tree of 14 switches follows this.
    Excluded,
}

/// Shortest distances between all hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distances {
    /// Number of hosts.
    pub hosts: u64,
    /// `histogram[s]`: ordered pairs of different hosts whose shortest path passes `s` switches.
    pub histogram: Vec<u64>,
    /// Ordered pairs of different hosts without any path.
    pub unconnected: u64,
    /// Hosts whose self pair counts a switch.
    pub behind_switch: u64,
}

impl Distances {
    /// Most switches on a shortest path between two hosts; `None` without connected pairs.
    pub fn longest(&self) -> Option<u32> {
        self.histogram.iter().rposition(|&n| n > 0).map(|s| s as u32)
    }

    /// Mean number of switches on a shortest path; `None` where pairs are unconnected or there are none.
    pub fn average(&self, own: SelfPairs) -> Option<f64> {
        let (mut pairs, mut sum) = (self.hosts * self.hosts.saturating_sub(1), 0);
        if self.unconnected > 0 {
            return None;
        }
        for (switches, &count) in self.histogram.iter().enumerate() {
            sum += switches as u64 * count;
        }
        if own == SelfPairs::Included {
            pairs += self.hosts;
            sum += self.behind_switch;
        }
        (pairs > 0).then(|| sum as f64 / pairs as f64)
    }
}

/// Breadth-first search from one node; only forwarding nodes (and the start) are passed.
pub(crate) fn levels(net: &Network, start: NodeId, level: &mut Vec<u32>, queue: &mut Vec<NodeId>) {
    level.clear();
    level.resize(net.nodes().len(), u32::MAX);
    queue.clear();
    queue.push(start);
    level[start.ix()] = 0;
    let mut head = 0;
    while let Some(&node) = queue.get(head) {
        head += 1;
        if node != start && !net.forwards(node) {
            continue;
        }
        for channel in net.out(node) {
            let to = net.to(channel);
            if level[to.ix()] == u32::MAX {
                level[to.ix()] = level[node.ix()] + 1;
                queue.push(to);
            }
        }
    }
}

/// Groups of hosts that every other host is equally far from: they forward nothing and hang on the same
/// nodes.
pub(crate) fn twin_hosts(net: &Network) -> Vec<Vec<HostId>> {
    let mut groups: BTreeMap<(bool, Vec<NodeId>), Vec<HostId>> = BTreeMap::new();
    for (i, &host) in net.hosts().iter().enumerate() {
        let mut at: Vec<NodeId> = net.out(host).map(|c| net.to(c)).collect();
        at.sort_unstable();
        let alone = net.forwards(host) || at.is_empty();
        let key = if alone { vec![host] } else { at };
        groups.entry((alone, key)).or_default().push(HostId(i as u32));
    }
    groups.into_values().collect()
}

/// Distances between all hosts; one search per group of equally placed hosts.
pub fn distances(net: &Network) -> Distances {
    let hosts = net.hosts();
    let mut result =
        Distances { hosts: hosts.len() as u64, histogram: Vec::new(), unconnected: 0, behind_switch: 0 };
    let (mut level, mut queue) = (Vec::new(), Vec::new());
    for group in twin_hosts(net) {
        let start = hosts[group[0].ix()];
        levels(net, start, &mut level, &mut queue);
        let behind = !net.forwards(start) && net.out(start).any(|c| net.forwards(net.to(c)));
        result.behind_switch += if behind { group.len() as u64 } else { 0 };
        for &host in hosts.iter().filter(|&&host| host != start) {
            // The search starts at the group's first host, which stands for all members: for the pairs inside
            // the group every ordered pair is counted by its first member once.
            let count = group.len() as u64;
            match level[host.ix()] {
                u32::MAX => result.unconnected += count,
                links => {
                    let switches = links as usize - 1;
                    if result.histogram.len() <= switches {
                        result.histogram.resize(switches + 1, 0);
                    }
                    result.histogram[switches] += count;
                }
            }
        }
    }
    result
}

/// Longest shortest path between two forwarding nodes, in cables: the diameter of table 1 of the RHiNET-2
/// paper. `None` if they are not connected, or if there are none.
pub fn diameter(net: &Network) -> Option<u32> {
    let (mut level, mut queue) = (Vec::new(), Vec::new());
    let mut longest = None;
    let forwarding = || (0..net.nodes().len() as u32).map(NodeId).filter(|&n| net.forwards(n));
    for start in forwarding() {
        levels(net, start, &mut level, &mut queue);
        for node in forwarding() {
            if level[node.ix()] == u32::MAX {
                return None;
            }
            longest = longest.max(Some(level[node.ix()]));
        }
    }
    longest
}

/// Largest number of cables that join a forwarding node to other forwarding nodes: table 1's degree.
pub fn degree(net: &Network) -> u32 {
    let nodes = (0..net.nodes().len() as u32).map(NodeId).filter(|&n| net.forwards(n));
    nodes.map(|n| net.out(n).filter(|&c| net.forwards(net.to(c))).count() as u32).max().unwrap_or(0)
}
