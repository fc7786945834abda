//! Measures everything about a network: parts, distances, bisections, single points of failure, cost.

use crate::{Prices, Range, Steps, digits};
use serde::Serialize;
use tasuki_cluster::RouteLoads;
use tasuki_topo::{
    LinkId, Network,
    bounds::{all_to_all_routed, all_to_all_split, effective_bisection},
    measure::{
        Count, DEFAULT_EFFORT, SelfPairs, WeakPoints, bisection, degree, diameter, distances, weak_points,
    },
};

/// Number of steps that [`measure`] reports.
pub const MEASURE_STEPS: u64 = 4;
/// Largest number of random halves for the effective bisection.
const HALVES: usize = 60;
/// Number of tables of random shortest paths for the effective bisection.
const RANDOM_TABLES: usize = 4;
/// Largest product of hosts, channels and random halves; it takes about a second.
const HALVES_EFFORT: usize = 100_000_000;

/// All measures of a network.
#[derive(Debug, Serialize)]
pub struct Measures {
    /// Name of the network.
    pub network: String,
    /// Number of hosts.
    pub hosts: usize,
    /// Number of switches.
    pub switches: usize,
    /// Number of cables.
    pub cables: usize,
    /// Number of cable ends at hosts.
    pub nics: usize,
    /// Number of cable ends at switches.
    pub switch_ports: usize,
    /// Largest number of cables that join a forwarding node to others.
    pub degree: u32,
    /// Number of cables between the two forwarding nodes that are farthest apart.
    pub diameter: Option<u32>,
    /// Number of switches or relays passed, mean over ordered pairs of different hosts.
    pub average_distance: Option<f64>,
    /// Number of switches or relays passed, mean over ordered pairs of hosts that include each host with
    /// itself, as in the RHiNET-2 paper.
    pub average_distance_with_self: Option<f64>,
    /// Number of switches or relays passed between the two hosts that are farthest apart.
    pub longest_distance: Option<u32>,
    /// Number of ordered pairs of hosts without a route.
    pub unconnected_pairs: u64,
    /// Bisection: number of cables across the worst cut into two halves of the hosts.
    pub bisection_cables: Range,
    /// Bisection: rate across the worst cut in one direction.
    pub bisection_bits_per_second: Range,
    /// Effective bisection in one direction, over choices of single shortest paths; `None` if hosts are
    /// unconnected.
    pub effective_bisection_bits_per_second: Option<Range>,
    /// Rate of every ordered pair if all send to all: over the routes that the hosts of a cluster have, or
    /// over all shortest paths of a graph, split evenly.
    pub all_to_all_bits_per_second: Option<f64>,
    /// Switches and relays whose loss separates hosts.
    pub weak_nodes: Vec<WeakPart>,
    /// Cables whose loss separates hosts.
    pub weak_cables: Vec<WeakPart>,
    /// Cost of all parts; `None` if no price is known.
    pub cost: Option<f64>,
}

/// A single point of failure.
#[derive(Debug, Serialize)]
pub struct WeakPart {
    /// Its name; that of a cable is the names of its two ends.
    pub part: String,
    /// Number of ordered pairs of hosts that its loss separates.
    pub pairs: u64,
}

/// Measures a network. `routes` are those of the cluster that it is the network of, if it is one.
pub fn measure(net: &Network, routes: Option<&RouteLoads<'_>>, prices: &Prices, step: Steps<'_>) -> Measures {
    step("distances");
    let far = distances(net);
    let diameter = diameter(net);
    step("bisection");
    let (bisection_cables, bisection_bits_per_second) = bisections(net);
    step("effective bisection");
    let effective = effective_bisection(net, halves(net), RANDOM_TABLES, 1).ok();
    let all_to_all = match routes {
        Some(routes) => all_to_all_routed(net, routes, None, f64::INFINITY),
        None => all_to_all_split(net),
    };
    step("single points of failure");
    let [weak_nodes, weak_cables] = weak_parts(net, &weak_points(net));
    let ends = || net.links().iter().flat_map(|link| link.ends);
    let nics = ends().filter(|&(node, _)| net.host_of(node).is_some()).count();
    let (switches, cables) = (net.switches(), net.links().len());
    Measures {
        network: net.name().to_owned(),
        hosts: net.hosts().len(),
        switches,
        cables,
        nics,
        switch_ports: ends().count() - nics,
        degree: degree(net),
        diameter,
        average_distance: far.average(SelfPairs::Excluded),
        average_distance_with_self: far.average(SelfPairs::Included),
        longest_distance: far.longest(),
        unconnected_pairs: far.unconnected,
        bisection_cables,
        bisection_bits_per_second,
        effective_bisection_bits_per_second: effective
            .map(|found| Range { lower: found.lowest_bps, upper: found.highest_bps }),
        all_to_all_bits_per_second: all_to_all,
        weak_nodes,
        weak_cables,
        cost: cost(prices, cables, nics, switches),
    }
}

/// The bisection in cables and in bit/s; one search serves both if all cables have the same rate.
fn bisections(net: &Network) -> (Range, Range) {
    let cut = |count| {
        let found = bisection(net, count, DEFAULT_EFFORT);
        Range { lower: found.lower as f64, upper: found.upper as f64 }
    };
    let cables = cut(Count::Cables);
    let rate = net.links().first().map_or(0, |link| link.rate_bps);
    match net.links().iter().all(|link| link.rate_bps == rate) {
        true => (cables, Range { lower: cables.lower * rate as f64, upper: cables.upper * rate as f64 }),
        false => (cables, cut(Count::BitsPerSecond)),
    }
}

/// The number of random halves of the hosts to try; it is smaller in large networks, where each takes longer.
fn halves(net: &Network) -> usize {
    let work = net.hosts().len() * net.channels();
    (HALVES_EFFORT / work.max(1)).clamp(3, HALVES)
}

fn weak_parts(net: &Network, weak: &WeakPoints) -> [Vec<WeakPart>; 2] {
    let cable = |end: LinkId| {
        let [a, b] = net.links()[end.ix()].ends.map(|(node, _)| net.label(node));
        format!("{a} - {b}")
    };
    let nodes = weak.nodes.iter();
    let nodes = nodes.map(|loss| WeakPart { part: net.label(loss.part).into(), pairs: loss.pairs });
    let cables = weak.cables.iter().map(|loss| WeakPart { part: cable(loss.part), pairs: loss.pairs });
    [nodes.collect(), cables.collect()]
}

/// The cost of all parts; `None` if no price is given.
fn cost(prices: &Prices, cables: usize, nics: usize, switches: usize) -> Option<f64> {
    let parts = [(prices.cable, cables), (prices.nic, nics), (prices.switch, switches)];
    let priced = parts.iter().any(|(price, _)| price.is_some());
    priced.then(|| parts.iter().map(|&(price, count)| price.unwrap_or(0.0) * count as f64).sum())
}

/// The measures as text: name and value of each line of a table.
pub fn measure_rows(measures: &Measures) -> Vec<[String; 2]> {
    let mut rows = Vec::new();
    let known = |value: Option<String>| value.unwrap_or_else(|| "not connected".into());
    let mut row = |what: &str, value: String| rows.push([what.to_owned(), value]);
    row("hosts, switches", format!("{}, {}", measures.hosts, measures.switches));
    row("cables", measures.cables.to_string());
    row("NICs, switch ports", format!("{}, {}", measures.nics, measures.switch_ports));
    row("most cables between forwarding nodes", measures.degree.to_string());
    row("diameter (cables)", known(measures.diameter.map(|d| d.to_string())));
    let passed = measures.average_distance.zip(measures.longest_distance);
    let with_self = measures.average_distance_with_self.map(|mean| format!(" ({mean:.3} with self pairs)"));
    let passed = passed
        .map(|(mean, most)| format!("{mean:.3} on average{}, {most} at most", with_self.unwrap_or_default()));
    row("distance (switches or relays passed)", known(passed));
    row("bisection (cables)", measures.bisection_cables.show(""));
    row("bisection, one direction", measures.bisection_bits_per_second.scaled(1e9).show(" Gbit/s"));
    let effective = measures.effective_bisection_bits_per_second;
    row("effective bisection", known(effective.map(|range| range.scaled(1e9).show(" Gbit/s"))));
    let pair = measures.all_to_all_bits_per_second;
    row("all to all, every pair", known(pair.map(|rate| format!("{} Mbit/s", digits(rate / 1e6)))));
    row("switches, relays whose loss separates hosts", list(&measures.weak_nodes));
    row("cables whose loss separates hosts", list(&measures.weak_cables));
    if let Some(cost) = measures.cost {
        row("cost", format!("{cost:.2}"));
    }
    rows
}

/// The names of the first few parts, with the number of pairs that their loss separates.
fn list(parts: &[WeakPart]) -> String {
    const SHOWN: usize = 4;
    let mut text: Vec<String> =
        parts.iter().take(SHOWN).map(|weak| format!("{} ({} pairs)", weak.part, weak.pairs)).collect();
    if parts.len() > SHOWN {
        text.push(format!("{} more", parts.len() - SHOWN));
    }
    if text.is_empty() { "none".into() } else { text.join(", ") }
}
