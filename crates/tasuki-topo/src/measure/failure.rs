//! Single points of failure: cables and nodes whose loss separates hosts that survive.

use super::distance::{levels, twin_hosts};
use crate::network::{HostId, LinkId, Network, NodeId};

/// What the loss of one part costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss<Part> {
    /// The part.
    pub part: Part,
    /// Number of ordered pairs of hosts that both survive and could reach each other before the loss, but not
    /// after it.
    pub pairs: u64,
}

/// All single points of failure, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WeakPoints {
    /// Switches and relaying hosts.
    pub nodes: Vec<Loss<NodeId>>,
    /// Cables; the only cable of a host is one.
    pub cables: Vec<Loss<LinkId>>,
}

/// Finds every single point of failure. One depth-first search narrows the candidates down (articulation
/// points and bridges of the forwarding nodes, and nodes that are the only neighbour of some host in a part);
/// every candidate is then removed and the lost pairs are counted.
pub fn weak_points(net: &Network) -> WeakPoints {
    let cuts = Cuts::of(net);
    let mut found = WeakPoints::default();
    for node in (0..net.nodes().len() as u32).map(NodeId) {
        if !net.forwards(node) || !(cuts.nodes[node.ix()] || only_way_for_a_host(net, &cuts, node)) {
            continue;
        }
        let pairs = lost_pairs(net, &net.without(&[], &[node]), Some(node));
        if pairs > 0 {
            found.nodes.push(Loss { part: node, pairs });
        }
    }
    for (i, link) in net.links().iter().enumerate() {
        let part = LinkId(i as u32);
        let [a, b] = link.ends.map(|(node, _)| node);
        let inside = net.forwards(a) && net.forwards(b);
        if !link.up || (inside && !cuts.cables[i]) {
            continue;
        }
        let pairs = match lone_host(net, a).or_else(|| lone_host(net, b)) {
            Some(host) => pairs_of(net, host),
            None => lost_pairs(net, &net.without(&[part], &[]), None),
        };
        if pairs > 0 {
            found.cables.push(Loss { part, pairs });
        }
    }
    found
}

/// The number of the host at a node, if the host does not relay and has exactly one cable.
fn lone_host(net: &Network, node: NodeId) -> Option<HostId> {
    net.host_of(node).filter(|_| !net.forwards(node) && net.out(node).count() == 1)
}

/// Number of ordered pairs (both orders) of one host with the hosts that it reaches.
fn pairs_of(net: &Network, host: HostId) -> u64 {
    let (mut level, mut queue) = (Vec::new(), Vec::new());
    let start = net.hosts()[host.ix()];
    levels(net, start, &mut level, &mut queue);
    2 * net.hosts().iter().filter(|&&h| h != start && level[h.ix()] != u32::MAX).count() as u64
}

/// Whether some host has no other neighbour than `node` in the part of the network that `node` belongs to.
fn only_way_for_a_host(net: &Network, cuts: &Cuts, node: NodeId) -> bool {
    let part = cuts.part[node.ix()];
    net.out(node).map(|c| net.to(c)).filter(|&h| !net.forwards(h)).any(|host| {
        let others = net.out(host).map(|c| net.to(c)).filter(|&n| n != node);
        !others.into_iter().any(|n| net.forwards(n) && cuts.part[n.ix()] == part)
    })
}

/// Number of ordered pairs of surviving hosts that were connected before the loss and are not after it.
fn lost_pairs(before: &Network, after: &Network, gone: Option<NodeId>) -> u64 {
    let survives = |host: NodeId| Some(host) != gone;
    let count = |net: &Network| {
        let (mut level, mut queue, mut pairs) = (Vec::new(), Vec::new(), 0);
        for group in twin_hosts(net) {
            let start = net.hosts()[group[0].ix()];
            if survives(start) {
                levels(net, start, &mut level, &mut queue);
                let reached = |h: &&NodeId| survives(**h) && **h != start && level[h.ix()] != u32::MAX;
                pairs += net.hosts().iter().filter(reached).count() as u64 * group.len() as u64;
            }
        }
        pairs
    };
    // Nothing that was unconnected becomes connected by a loss, so the difference is what was lost; but paths
    // that began or ended at the lost node are no loss, hence `survives` on both sides.
    count(before) - count(after)
}

/// Articulation points and bridges of the forwarding nodes (Hopcroft and Tarjan 1973), without recursion.
struct Cuts {
    nodes: Vec<bool>,
    cables: Vec<bool>,
    /// Number of the connected part of every forwarding node.
    part: Vec<u32>,
}

impl Cuts {
    fn of(net: &Network) -> Cuts {
        let n = net.nodes().len();
        let mut cuts =
            Cuts { nodes: vec![false; n], cables: vec![false; net.links().len()], part: vec![u32::MAX; n] };
        let (mut found, mut low) = (vec![0u32; n], vec![0u32; n]);
        let mut clock = 0;
        for root in (0..n as u32).map(NodeId).filter(|&r| net.forwards(r)) {
            if found[root.ix()] == 0 {
                cuts.search(net, root, &mut found, &mut low, &mut clock);
            }
        }
        cuts
    }

    fn search(&mut self, net: &Network, root: NodeId, found: &mut [u32], low: &mut [u32], clock: &mut u32) {
        struct Visit {
            node: NodeId,
            by: Option<LinkId>,
            port: usize,
        }
        let mut root_children = 0;
        let mut stack = vec![Visit { node: root, by: None, port: 0 }];
        *clock += 1;
        (found[root.ix()], low[root.ix()], self.part[root.ix()]) = (*clock, *clock, root.0);
        while let Some(visit) = stack.last_mut() {
            let (node, by) = (visit.node, visit.by);
            if visit.port < net.ports(node) {
                visit.port += 1;
                let channel = net.channel_at(node, crate::network::Port(visit.port as u16 - 1));
                let Some(channel) = channel.filter(|c| Some(c.link()) != by && net.forwards(net.to(*c)))
                else {
                    continue;
                };
                let to = net.to(channel);
                if found[to.ix()] == 0 {
                    *clock += 1;
                    (found[to.ix()], low[to.ix()], self.part[to.ix()]) = (*clock, *clock, root.0);
                    stack.push(Visit { node: to, by: Some(channel.link()), port: 0 });
                } else {
                    low[node.ix()] = low[node.ix()].min(found[to.ix()]);
                }
                continue;
            }
            stack.pop();
            let (Some(parent), Some(link)) = (stack.last().map(|v| v.node), by) else { continue };
            low[parent.ix()] = low[parent.ix()].min(low[node.ix()]);
            if low[node.ix()] > found[parent.ix()] {
                self.cables[link.ix()] = true;
            }
            if parent == root {
                root_children += 1;
            } else if low[node.ix()] >= found[parent.ix()] {
                self.nodes[parent.ix()] = true;
            }
        }
        self.nodes[root.ix()] = root_children > 1;
    }
}
