//! Graphs with short paths, found by search: the order/degree problem (so many vertices, so many edges at each:
//! hosts that relay) and the order/radix problem (so many hosts, switches of so many ports), with the bounds that no
//! graph can beat. Definitions and sources: `docs/topologies.md`.
//!
//! The same seed and effort give the same graph on every machine.

mod anneal;
mod distance;
mod moore;
mod radix;
mod start;

pub use moore::{least_average, least_diameter};
pub use radix::{HostSwitch, order_radix};

use crate::error::NetworkError;
use crate::random::SplitMix64;
use distance::{Quality, quality};
use start::Rotations;

/// A graph that the search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Number of vertices.
    pub vertices: usize,
    /// Edges, each once, ascending.
    pub edges: Vec<(usize, usize)>,
    /// Longest distance of two vertices, in edges.
    pub diameter: u32,
    /// Mean distance over all pairs of different vertices, in edges.
    pub average: f64,
}

/// Largest number of vertices that are searched for: one evaluation is quadratic in it.
pub const VERTICES_MAX: usize = 4096;

/// Default effort of a search: about a second in an optimised build.
pub const DEFAULT_EFFORT: u64 = 400_000_000;

/// A connected graph of `vertices` vertices with at most `degree` edges each, of small diameter and, among those, of
/// small average distance. Never worse than the random regular graph of the same seed, which the search sets out
/// from. `effort` bounds the elementary steps.
///
/// Simulated annealing with exchanges of edge ends. The effort goes by turns to graphs without symmetry and to ones
/// that rotations by each divisor of `vertices` map onto themselves, as many optimal graphs are.
pub fn order_degree(vertices: usize, degree: usize, seed: u64, effort: u64) -> Result<Found, NetworkError> {
    let fail = |problem: String| {
        let shape = format!("graph of {vertices} vertices with {degree} edges each");
        Err(NetworkError::Shape { shape, problem })
    };
    if !(2..=VERTICES_MAX).contains(&vertices) {
        return fail(format!("takes 2 to {VERTICES_MAX} vertices"));
    }
    if degree == 0 || (degree == 1 && vertices > 2) {
        return fail("too few edges to connect all vertices; take a degree of at least 2".into());
    }
    if degree + 1 >= vertices {
        let edges = (0..vertices).flat_map(|a| (a + 1..vertices).map(move |b| (a, b))).collect();
        return Ok(Found { vertices, edges, diameter: 1, average: 1.0 });
    }
    let mut random = SplitMix64::new(seed);
    let first = Rotations::regular(vertices, degree, &mut random);
    let mut best = (score(&first, degree), first.clone());
    // A ring has no other shape.
    let turns = if degree == 2 { Vec::new() } else { turns(vertices, degree) };
    for &rotation in &turns {
        if at_the_bound(best.0, vertices, degree) {
            break;
        }
        let start = match rotation {
            1 => Some(first.clone()),
            _ => Rotations::random(vertices, degree, rotation, &mut random),
        };
        let Some(start) = start else { continue };
        let found = anneal::anneal(start, degree, effort / turns.len() as u64, &mut random);
        if found.0 < best.0 {
            best = found;
        }
    }
    let (quality, graph) = best;
    Ok(found(vertices, graph.edges(), quality))
}

/// The sizes of rotation to try, each four times: 1 (none) and the divisors that leave 2 orbits or more.
fn turns(vertices: usize, degree: usize) -> Vec<usize> {
    let whole = |&g: &usize| vertices.is_multiple_of(g) && (vertices / g * degree).is_multiple_of(2);
    let sizes: Vec<usize> = (1..=vertices / 2).filter(whole).collect();
    if sizes.is_empty() {
        return vec![1; 4];
    }
    (0..4).flat_map(|_| sizes.iter().copied()).collect()
}

fn score(graph: &Rotations, degree: usize) -> Quality {
    let aim = least_diameter(graph.vertices(), degree);
    quality(graph.vertices(), &graph.neighbours(), aim).unwrap_or(Quality::WORST)
}

/// Whether no graph can be better.
fn at_the_bound(quality: Quality, vertices: usize, degree: usize) -> bool {
    let pairs = (vertices * (vertices - 1)) as f64;
    quality.sum as f64 <= least_average(vertices, degree) * pairs + 0.5
}

fn found(vertices: usize, edges: Vec<(usize, usize)>, quality: Quality) -> Found {
    let average = quality.sum as f64 / (vertices * (vertices - 1)) as f64;
    Found { vertices, edges, diameter: quality.diameter, average }
}
