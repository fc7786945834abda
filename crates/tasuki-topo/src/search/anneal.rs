//! Simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 1983) by exchanges of edge ends, which leave degrees as
//! they are.

use super::distance::{Quality, cost, quality};
use super::least_diameter;
use super::start::{Orbit, Rotations};
use crate::random::SplitMix64;

/// Anneals a graph within `effort` elementary steps; the best graph met with, which may be the start.
pub(super) fn anneal(
    mut graph: Rotations,
    degree: usize,
    effort: u64,
    random: &mut SplitMix64,
) -> (Quality, Rotations) {
    let vertices = graph.vertices();
    let pairs = (vertices * (vertices - 1)) as f64;
    let mut neighbours = graph.neighbours();
    let aim = least_diameter(vertices, degree);
    let mut now = quality(vertices, &neighbours, aim).unwrap_or(Quality::WORST);
    let mut best = (now, graph.clone());
    let evaluations = effort / cost(vertices, degree);
    // In units of one distance of one pair and of its rotations, both ways: what a move changes at the least.
    let unit = 2.0 * graph.size as f64;
    let (hot, cold) = (vertices as f64 / 8.0, 0.2);
    for step in 0..evaluations {
        let Some((at, new)) = draw(&graph, &neighbours, random) else { continue };
        let old = at.map(|i| graph.edges[i]);
        replace(&mut graph, &mut neighbours, at, old, new);
        let then = quality(vertices, &neighbours, aim).unwrap_or(Quality::WORST);
        let left = 1.0 - step as f64 / evaluations as f64;
        let temperature = cold + (hot - cold) * left * left * left;
        let worse = (energy(then, pairs) - energy(now, pairs)) / unit;
        let luck = random.next_u64() as f64 / u64::MAX as f64;
        if now == Quality::WORST || worse <= 0.0 || luck < falling(worse / temperature) {
            now = then;
            if now < best.0 {
                best = (now, graph.clone());
            }
        } else {
            replace(&mut graph, &mut neighbours, at, new, old);
        }
    }
    best
}

/// About exp(-x) for x >= 0, by multiplications alone: the same on every machine, which libraries' exp is not.
fn falling(x: f64) -> f64 {
    let mut power = (1.0 - x / 32.0).max(0.0);
    for _ in 0..5 {
        power *= power;
    }
    power
}

/// What a distance beyond the diameter to aim for costs on top, per edge of excess. The diameter itself is no measure of
/// progress (one pair decides it), and the sum alone is often least for a graph of a larger diameter.
const BEYOND: f64 = 4.0;

/// The sum of distances, long ones weighing more.
fn energy(quality: Quality, pairs: f64) -> f64 {
    if quality == Quality::WORST { pairs * 1e6 } else { quality.sum as f64 + BEYOND * quality.beyond as f64 }
}

/// Two orbits of edges and what to put in their place; `None` if the draw would not leave the graph simple.
fn draw(
    graph: &Rotations,
    neighbours: &[Vec<u32>],
    random: &mut SplitMix64,
) -> Option<([usize; 2], [Orbit; 2])> {
    let (i, j) = (random.below(graph.edges.len()), random.below(graph.edges.len()));
    if i == j {
        return None;
    }
    let (first, mut second) = (graph.edges[i], graph.edges[j]);
    if random.below(2) == 1 {
        let shift = (graph.size as u32 - second.shift) % graph.size as u32;
        second = Orbit { a: second.b, b: second.a, shift };
    }
    let mut shift = || random.below(graph.size) as u32;
    let new = [
        Orbit { a: first.a, b: second.b, shift: shift() },
        Orbit { a: second.a, b: first.b, shift: shift() },
    ];
    let mut without = new[0] != new[1];
    let size = graph.size as u32;
    let turned = Orbit { a: new[1].b, b: new[1].a, shift: (size - new[1].shift) % size };
    without &= turned != new[0];
    let fits = |edge| graph.is_simple(edge) && (graph.is_at(edge, [i, j]) || !graph.joins(neighbours, edge));
    (without && new.into_iter().all(fits)).then_some(([i, j], new))
}

/// Exchanges two orbits, in the graph and in its neighbours.
fn replace(
    graph: &mut Rotations,
    neighbours: &mut [Vec<u32>],
    at: [usize; 2],
    old: [Orbit; 2],
    new: [Orbit; 2],
) {
    for (a, b) in old.iter().flat_map(|&edge| graph.spread(edge)) {
        remove(&mut neighbours[a as usize], b);
        remove(&mut neighbours[b as usize], a);
    }
    for (a, b) in new.iter().flat_map(|&edge| graph.spread(edge)) {
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
    }
    for (i, edge) in at.into_iter().zip(new) {
        graph.edges[i] = edge;
    }
}

fn remove(neighbours: &mut Vec<u32>, vertex: u32) {
    if let Some(at) = neighbours.iter().position(|&v| v == vertex) {
        neighbours.swap_remove(at);
    }
}
