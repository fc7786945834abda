//! Effective bisection (Hoefler, Schneider, Lumsdaine, Cluster 2008): the rate at which random halves of the
//! hosts exchange data over given single paths. (The bisection proper is what the cables between the worst
//! halves could carry.)

use super::{Traffic, max_min_fair};
use crate::error::RouteError;
use crate::measure::levels;
use crate::network::{HostId, Network, NodeId};
use crate::random::SplitMix64;
use crate::route::{Engine, Limits, PathRule, route};
use crate::tables::Tables;

/// Result of [`effective_bisection()`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effective {
    /// Rate of all pairs together with the worst of the path choices tried, in one direction, mean over the
    /// halves, bit/s.
    pub lowest_bps: f64,
    /// Like [`Self::lowest_bps`], with the best of the path choices tried.
    pub highest_bps: f64,
    /// Number of path choices tried.
    pub choices: usize,
    /// Number of random halves, the same ones for every choice.
    pub halves: usize,
}

/// Divides the hosts at random `halves` times (an odd host is left out) and lets every host of one half and
/// its partner in the other send to each other at once, at max-min fair rates. The range is over choices
/// among the shortest paths, one path per destination: low port first, spread per host, and `random` tables
/// drawn by `seed`.
pub fn effective_bisection(
    net: &Network,
    halves: usize,
    random: usize,
    seed: u64,
) -> Result<Effective, RouteError> {
    let mut draw = SplitMix64::new(seed);
    let mut choices = Vec::new();
    for rule in [PathRule::LowPortFirst, PathRule::SpreadPerHost] {
        choices.push(route(net, Engine::Minimal(rule), Limits::lossy())?);
    }
    choices.extend((0..random).map(|_| random_tables(net, &mut draw)));
    let traffic: Vec<Traffic> = (0..halves).map(|_| random_halves(net, &mut draw)).collect();
    let mut result =
        Effective { lowest_bps: f64::INFINITY, highest_bps: 0.0, choices: choices.len(), halves };
    for tables in &choices {
        let mut total = 0.0;
        for pairs in &traffic {
            // The tables come from engines that refuse networks with unconnected hosts, so every path is
            // whole.
            let paths = pairs.paths(net, tables).unwrap_or_default();
            total += max_min_fair(net, pairs, &paths).total_bps() / 2.0;
        }
        let mean = total / halves.max(1) as f64;
        result.lowest_bps = result.lowest_bps.min(mean);
        result.highest_bps = result.highest_bps.max(mean);
    }
    Ok(result)
}

fn random_halves(net: &Network, random: &mut SplitMix64) -> Traffic {
    let mut hosts: Vec<HostId> = (0..net.hosts().len() as u32).map(HostId).collect();
    random.shuffle(&mut hosts);
    Traffic::new(hosts.chunks_exact(2).flat_map(|pair| [(pair[0], pair[1]), (pair[1], pair[0])]))
}

/// A shortest path to every destination, drawn at every node among all that begin there.
fn random_tables(net: &Network, random: &mut SplitMix64) -> Tables {
    let several = |node: NodeId| net.out(node).count() > 1;
    let nodes = (0..net.nodes().len() as u32).map(NodeId);
    let nodes: Vec<NodeId> = nodes.filter(|&node| net.forwards(node) || several(node)).collect();
    let mut tables = Tables::new("random shortest paths", net, &nodes);
    let (mut level, mut queue) = (Vec::new(), Vec::new());
    for (host, &goal) in net.hosts().iter().enumerate() {
        levels(net, goal, &mut level, &mut queue);
        for (row, &node) in nodes.iter().enumerate().filter(|&(_, &node)| node != goal) {
            let nearer = net.out(node).filter(|&channel| {
                let to = net.to(channel);
                (to == goal || net.forwards(to)) && level[to.ix()].saturating_add(1) == level[node.ix()]
            });
            let nearer: Vec<_> = nearer.collect();
            if let Some(&channel) = nearer.get(random.below(nearer.len())) {
                tables.set_port(row, HostId(host as u32), Some(net.out_port(channel)));
            }
        }
    }
    tables
}
