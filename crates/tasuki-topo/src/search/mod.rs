//! Graphs with short paths, found by search: the order/degree problem (so many vertices, so many edges at each:
//! hosts that relay) and the order/radix problem (so many hosts, switches of so many ports), with the bounds that no
//! graph can beat. Definitions and sources: `docs/topologies.md`.
//!
//! The same seed and effort give the same graph on every machine.

mod anneal;
mod distance;
mod exchange;
mod graph;
mod group;
mod moore;
mod radix;
mod turns;

pub use moore::{least_average, least_diameter};
pub use radix::{HostSwitch, order_radix};

use crate::error::NetworkError;
use crate::random::SplitMix64;
use distance::Quality;
use graph::Graph;
use turns::{Search, groups};

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
/// Simulated annealing with exchanges of edge ends, of graphs without symmetry and of ones that groups map onto themselves, as many
/// of the best graphs known are. All groups have a turn; half of them, those that came to the best graphs, have another one, and so on.
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
    let start = Graph::regular(vertices, degree, &mut random);
    let groups = groups(vertices, degree);
    let first = Graph::of(vertices, &groups[0], start);
    let quality = first.quality(least_diameter(vertices, degree)).unwrap_or(Quality::WORST);
    if degree == 2 {
        // A ring has no other shape.
        return Ok(found(vertices, first.pairs(), quality));
    }
    let search = Search { vertices, degree, first: first.clone() };
    let ((quality, edges), group) = search.run(&groups, (quality, first.edges.clone()), effort, &mut random);
    Ok(found(vertices, Graph::of(vertices, group, edges).pairs(), quality))
}

fn found(vertices: usize, edges: Vec<(usize, usize)>, quality: Quality) -> Found {
    let average = quality.sum as f64 / (vertices * (vertices - 1)) as f64;
    Found { vertices, edges, diameter: quality.diameter, average }
}
