//! What each proposal gives, and which is better than another.

use crate::{
    Inventory, MEASURE_STEPS, Measures, Moves, PlanningError, Proposal, Range, Steps, digits, furnish,
    measure,
};
use serde::Serialize;
use std::cmp::Ordering;
use tasuki_cluster::Cluster;
use tasuki_topo::{
    LinkId, Network, NodeId,
    bounds::{Traffic, all_to_all_within, concurrent},
};

/// Relative width of the ranges of bandwidths to aim for.
const WIDTH: f64 = 0.05;
/// Phases of the search for a bandwidth after which a wider range will do.
const PHASES: u32 = 60;
/// Elementary steps that all single failures of a proposal may take: seconds.
const FAILURE_EFFORT: usize = 3_000_000_000;
/// Steps that [`rank`] reports.
pub const RANK_STEPS: u64 = MEASURE_STEPS + 2;

/// A proposal and what it gives.
#[derive(Serialize)]
pub struct Ranked {
    /// Its number among all proposals, from 1; 0 until they are in order.
    pub number: usize,
    /// What it is, in a few words.
    pub what: String,
    /// What speaks for it, or against it.
    pub why: &'static str,
    /// What every host sends when all send to all over all shortest paths, split evenly as the routes do, bit/s.
    pub all_to_all_bits_per_second: f64,
    /// What every host sends when all send to all over the best routes that there could be.
    pub all_to_all_best_bits_per_second: Range,
    /// What every host sends to the next one when all do so at once, over the best routes.
    pub neighbour_bits_per_second: Range,
    /// All to all after the worst single cable fails; 0 if that separates hosts, none if not computed.
    pub after_cable_bits_per_second: Option<f64>,
    /// All to all after the worst single switch fails; 0 if that separates hosts, none if not computed.
    pub after_switch_bits_per_second: Option<f64>,
    /// What its network gives in general.
    pub measures: Measures,
    /// The names of both ends of each cable.
    pub cabling: Vec<[String; 2]>,
    /// Whether the hosts' PCI Express slots hold back what their ports could carry, in words; none if no slot is known.
    pub pcie: Option<String>,
    /// What becomes of the cables that there are, where a cluster grows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Moves>,
    /// The cluster, with racks and lengths.
    #[serde(skip)]
    pub cluster: Cluster,
}

/// What makes one proposal better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// Most bandwidth between every pair when all send to all.
    Bandwidth,
    /// Fewest switches and relays between hosts.
    Hops,
    /// Most bandwidth left after the worst single cable or switch fails.
    Failure,
    /// Least cost, or without prices fewest cables and switches.
    Cost,
    /// Fewest cables moved, where a cluster grows.
    Moved,
}

/// Says what a proposal gives.
pub fn rank(proposal: Proposal, inventory: &Inventory, step: Steps<'_>) -> Result<Ranked, PlanningError> {
    let Proposal { what, why, mut cluster, moves } = proposal;
    if let Some(per_rack) = inventory.hosts_per_rack {
        furnish(&mut cluster, per_rack);
    }
    let net = Network::from_cluster(&cluster)?;
    let others = net.hosts().len() as f64 - 1.0;
    let slot = inventory.pcie.map_or(f64::INFINITY, |slot| slot.bits_per_second());
    let best = |traffic: &Traffic, factor: f64| {
        let found = concurrent(&net, traffic, WIDTH, PHASES);
        within_slot(Range { lower: found.lower_bps * factor, upper: found.upper_bps * factor }, &net, slot)
    };
    step("bandwidth");
    let all_to_all = best(&Traffic::all_to_all(&net), others);
    let neighbour = best(&Traffic::neighbour(&net), 1.0);
    let mut measures = measure(&net, &inventory.prices, step);
    let whole = measures.all_to_all_bits_per_second.unwrap_or(0.0);
    let split = all_to_all_within(&net, slot).unwrap_or(0.0);
    measures.all_to_all_bits_per_second = measures.all_to_all_bits_per_second.map(|_| split);
    let metres: f64 = cluster.cables.iter().filter_map(|cable| cable.length_m).sum();
    if let Some(price) = inventory.prices.metre {
        measures.cost = Some(measures.cost.unwrap_or(0.0) + price * metres);
    }
    step("failures");
    let [after_cable, after_switch] =
        after_failures(&net, split, slot).map(|rate| rate.map(|rate| rate * others));
    let cabling = cluster.cables.iter().map(|cable| cable.ends.map(|end| cluster.end_name(end))).collect();
    Ok(Ranked {
        number: 0,
        what,
        why,
        all_to_all_bits_per_second: split * others,
        all_to_all_best_bits_per_second: all_to_all,
        neighbour_bits_per_second: neighbour,
        after_cable_bits_per_second: after_cable,
        after_switch_bits_per_second: after_switch,
        measures,
        cabling,
        pcie: inventory.pcie.map(|_| slot_note(slot, split, whole)),
        moves,
        cluster,
    })
}

/// Whether a slot of so many bit/s holds all to all back, which is `split` with it and `whole` without.
fn slot_note(slot: f64, split: f64, whole: f64) -> String {
    match split < whole * (1.0 - 1e-9) {
        true => format!(
            "{} Gbit/s each way hold back all to all by {:.0} %",
            digits(slot / 1e9),
            (1.0 - split / whole) * 100.0
        ),
        false => format!("{} Gbit/s each way are enough", digits(slot / 1e9)),
    }
}

/// A range of what a host sends, as far as its slot of so many bit/s lets it. The slot also carries what the host relays,
/// which the lower end takes into account as if all ports were full.
fn within_slot(range: Range, net: &Network, slot: f64) -> Range {
    let ports = |&node: &NodeId| net.out(node).map(|channel| net.rate_bps(channel) as f64).sum::<f64>();
    let most = net.hosts().iter().map(ports).fold(0.0, f64::max);
    Range { lower: range.lower * (slot / most).min(1.0), upper: range.upper.min(slot) }
}

/// What every pair still gets when all send to all, in bit/s, after the worst loss of one cable and of one switch; `whole` is
/// what it gets without any loss. A network without switches loses nothing by the second.
fn after_failures(net: &Network, whole: f64, slot: f64) -> [Option<f64>; 2] {
    let switches = (0..net.nodes().len() as u32).map(NodeId).filter(|&node| net.host_of(node).is_none());
    let switches: Vec<NodeId> = switches.collect();
    let losses = net.links().len() + switches.len();
    if losses.saturating_mul(net.channels()).saturating_mul(net.hosts().len()) > FAILURE_EFFORT {
        return [None, None];
    }
    let rate = |net: Network| all_to_all_within(&net, slot).unwrap_or(0.0);
    let cables = (0..net.links().len() as u32).map(|link| rate(net.without(&[LinkId(link)], &[])));
    let after_cable = cables.fold(whole, f64::min);
    let after_switch = switches.iter().map(|&node| rate(net.without(&[], &[node]))).fold(whole, f64::min);
    [Some(after_cable), Some(after_switch)]
}

/// Orders the better proposal first: by `best`, then by bandwidth, by hops, by cost.
pub fn compare_ranked(a: &Ranked, b: &Ranked, best: Best) -> Ordering {
    let bandwidth = || descending(a.all_to_all_bits_per_second, b.all_to_all_bits_per_second);
    let far = |one: &Ranked| one.measures.average_distance.unwrap_or(f64::INFINITY);
    let hops = || far(a).total_cmp(&far(b));
    let parts = |one: &Ranked| one.measures.cables + one.measures.switches;
    let price = |one: &Ranked| one.measures.cost.unwrap_or(parts(one) as f64);
    let cost = || price(a).total_cmp(&price(b));
    let left = |one: &Ranked| {
        let both = one.after_cable_bits_per_second.zip(one.after_switch_bits_per_second);
        both.map_or(0.0, |(cable, switch)| cable.min(switch))
    };
    let first = match best {
        Best::Bandwidth => Ordering::Equal,
        Best::Hops => hops(),
        Best::Failure => descending(left(a), left(b)),
        Best::Cost => cost(),
        Best::Moved => {
            let moved = |one: &Ranked| one.moves.as_ref().map_or(0, |moves| moves.moved);
            moved(a).cmp(&moved(b))
        }
    };
    first.then_with(bandwidth).then_with(hops).then_with(cost)
}

/// Orders the larger value first; values that differ by rounding alone are equal.
fn descending(a: f64, b: f64) -> Ordering {
    if (a - b).abs() <= 1e-6 * a.max(b) { Ordering::Equal } else { b.total_cmp(&a) }
}
