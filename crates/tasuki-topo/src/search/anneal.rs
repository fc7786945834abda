//! Simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 1983) by exchanges of edge ends.

use super::distance::{Quality, evaluation};
use super::exchange::Exchange;
use super::graph::{Graph, Orbit};
use super::least_diameter;
use crate::cooling::{UNIT, allowance, temperature};
use crate::random::SplitMix64;

/// The best graph met with, as orbits of edges of its group.
pub(super) type Best = (Quality, Vec<Orbit>);

/// Anneals a graph within `effort` elementary steps; what it finds may be the start.
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
    // One distance of one pair and of its images, both ways: what an exchange changes at the least.
    let unit = 2 * size as u64;
    let (hot, cold) = (hottest(vertices) * unit, COLD * unit);
    let evaluation = evaluation(vertices, degree, size);
    let mut spent = 0;
    while spent < effort {
        // A draw that nothing comes of takes less; counted in full, dense graphs end too.
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

/// Temperatures in 1/[`UNIT`] of what an exchange changes at the least.
const COLD: u64 = UNIT / 4;

fn hottest(vertices: usize) -> u64 {
    (vertices as u64 * UNIT / 64).max(UNIT)
}
