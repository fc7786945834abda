//! Measures proposals and puts them in order.

use crate::{
    Inventory, MEASURE_STEPS, Measures, Moves, PlanningError, ProgramTime, Proposal, Range, Steps, digits,
    furnish, measure,
};
use serde::Serialize;
use std::cmp::Ordering;
use tasuki_cluster::{CableId, Cluster, Failed, RouteLoads, SwitchId};
use tasuki_topo::{
    Network, NodeId,
    bounds::{Traffic, all_to_all_routed, concurrent},
};

/// Relative width of the ranges of bandwidths to aim for.
const WIDTH: f64 = 0.05;
/// Largest number of phases of the search for a bandwidth; the range stays wider if it has not ended by then.
const PHASES: u32 = 60;
/// Limit of the elementary steps for all single failures of a proposal; they take seconds.
const FAILURE_EFFORT: usize = 300_000_000;
/// Number of steps that [`rank`] reports.
pub const RANK_STEPS: u64 = MEASURE_STEPS + 2;

/// A proposal with its measures.
#[derive(Serialize)]
pub struct Ranked {
    /// Its number among all proposals, from 1; 0 until they are in order.
    pub number: usize,
    /// A short description.
    pub what: String,
    /// Its advantages and disadvantages in a sentence.
    pub why: &'static str,
    /// Rate of every host if all send to all over the routes that Tasuki sets, bit/s.
    pub all_to_all_bits_per_second: f64,
    /// Rate of every host if all send to all over the best possible routes.
    pub all_to_all_best_bits_per_second: Range,
    /// Rate of every host to the next one if all send at once, over the best possible routes.
    pub neighbour_bits_per_second: Range,
    /// Rate of every host if all send to all after the worst single cable has failed; 0 if this separates
    /// hosts, `None` if not computed.
    pub after_cable_bits_per_second: Option<f64>,
    /// Rate of every host if all send to all after the worst single switch has failed; 0 if this separates
    /// hosts, `None` if not computed.
    pub after_switch_bits_per_second: Option<f64>,
    /// The measures of its network.
    pub measures: Measures,
    /// The names of both ends of each cable.
    pub cabling: Vec<[String; 2]>,
    /// Whether the hosts' PCI Express slots limit the rate of their ports, as text; `None` if no slot is
    /// known.
    pub pcie: Option<String>,
    /// What happens to the existing cables of a cluster that grows; `None` for a new cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Moves>,
    /// What the cabling gives to the program for which it is planned, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramTime>,
    /// The cluster, with racks and lengths.
    #[serde(skip)]
    pub cluster: Cluster,
}

/// The property that decides which proposal is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// Most bandwidth between every pair if all send to all.
    Bandwidth,
    /// Fewest switches and relays between hosts.
    Hops,
    /// Most bandwidth left after the worst single cable or switch fails.
    Failure,
    /// Least cost, or fewest cables and switches if there are no prices.
    Cost,
    /// Fewest cables moved, for a cluster that grows.
    Moved,
}

/// Measures a proposal.
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
    let routes = RouteLoads::new(&cluster);
    let mut measures = measure(&net, Some(&routes), &inventory.prices, step);
    let whole = measures.all_to_all_bits_per_second.unwrap_or(0.0);
    let split = all_to_all_routed(&net, &routes, None, slot).unwrap_or(0.0);
    measures.all_to_all_bits_per_second = measures.all_to_all_bits_per_second.map(|_| split);
    let metres: f64 = cluster.cables.iter().filter_map(|cable| cable.length_m).sum();
    if let Some(price) = inventory.prices.metre {
        measures.cost = Some(measures.cost.unwrap_or(0.0) + price * metres);
    }
    step("failures");
    let [after_cable, after_switch] =
        after_failures(&net, &routes, split, slot).map(|rate| rate.map(|rate| rate * others));
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
        program: None,
        cluster,
    })
}

/// Whether a slot of `slot` bit/s limits the rate of all to all, which is `split` with the slot and `whole`
/// without.
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

/// The range of a host's rate under the limit of its slot, in bit/s. The slot also carries traffic that the
/// host relays; the lower end takes this into account as if all ports were full.
fn within_slot(range: Range, net: &Network, slot: f64) -> Range {
    let ports = |&node: &NodeId| net.out(node).map(|channel| net.rate_bps(channel) as f64).sum::<f64>();
    let most = net.hosts().iter().map(ports).fold(0.0, f64::max);
    Range { lower: range.lower * (slot / most).min(1.0), upper: range.upper.min(slot) }
}

/// The rate of every pair if all send to all, in bit/s, after the worst loss of one cable and after that of
/// one switch. `whole` is the rate without any loss, which a network without switches keeps in the second
/// case.
fn after_failures(net: &Network, routes: &RouteLoads<'_>, whole: f64, slot: f64) -> [Option<f64>; 2] {
    let worst = |losses: usize, failed: &dyn Fn(usize) -> Failed| {
        let mut left = whole;
        let effort = losses.saturating_mul(routes.steps());
        for loss in 0..losses {
            left = left.min(all_to_all_routed(net, routes, Some(failed(loss)), slot).unwrap_or(0.0));
            if left == 0.0 {
                break;
            }
            if effort > FAILURE_EFFORT {
                return None;
            }
        }
        Some(left)
    };
    let cable = |loss| Failed::Cable(CableId(loss));
    let switch = |loss| Failed::Switch(SwitchId(loss));
    [worst(net.links().len(), &cable), worst(net.switches(), &switch)]
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
