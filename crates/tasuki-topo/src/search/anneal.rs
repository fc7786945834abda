//! Simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 1983) by exchanges of edge ends.

use super::distance::{Quality, evaluation};
use super::exchange::Exchange;
use super::graph::{Graph, Orbit};
use super::least_diameter;
use crate::cooling::{UNIT, allowance, temperature};
use crate::random::SplitMix64;

/// The best graph found so far, as orbits of edges under its group.
pub(super) type Best = (Quality, Vec<Orbit>);

/// Anneals a graph within `effort` elementary steps; returns the best graph found, which may be the first
/// one.
pub(super) fn anneal(
    mut graph: Graph,
    vertices: usize,
    degree: usize,
    effort: u64,
    random: &mut SplitMix64,
) -> Best {
    let size = graph.group.size();
    let aim = least_diameter(vertices, degree);
    let mut now = graph.quality(aim).unwrap_or(Quality::WORST);
    let mut best = (now, graph.edges.clone());
    // The least change by an exchange: 1 for one pair and each of its images, in both directions.
    let unit = 2 * size as u64;
    let (hot, cold) = (hottest(vertices) * unit, COLD * unit);
    let evaluation = evaluation(vertices, degree, size);
    let mut spent = 0;
    while spent < effort {
        // An attempt that changes nothing takes less time. It counts in full, so that dense graphs, where
        // most attempts change nothing, come to an end too.
        spent += evaluation;
        let Some(exchange) = Exchange::attempt(&mut graph, random) else { continue };
        let then = graph.quality(aim).unwrap_or(Quality::WORST);
        let allowed = allowance(temperature(hot, cold, spent, effort), random);
        if then.energy() <= now.energy().saturating_add(allowed) {
            exchange.keep(&mut graph);
            now = then;
            if now < best.0 {
                best = (now, graph.edges.clone());
            }
        } else {
            exchange.undo(&mut graph);
        }
    }
    best
}

/// The temperature at the end, in 1/[`UNIT`] of the least change by an exchange.
const COLD: u64 = UNIT / 4;

/// The temperature at the beginning, in 1/[`UNIT`] of the least change by an exchange.
fn hottest(vertices: usize) -> u64 {
    (vertices as u64 * UNIT / 64).max(UNIT)
}
