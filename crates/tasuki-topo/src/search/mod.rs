//! Graphs with short paths, found by search, and the bounds that no graph can beat. Two problems:
//! order/degree (given the number of vertices and of edges at each: hosts that relay) and order/radix (given
//! the number of hosts and the ports of a switch). Definitions and sources: `docs/internals/topologies.md`.
//!
//! A seed and an effort give the same graph on every machine.

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

/// The largest number of vertices of a search: the time of one evaluation grows with its square.
pub const VERTICES_MAX: usize = 4096;

/// Default effort of a search: about a second in an optimised build.
pub const DEFAULT_EFFORT: u64 = 400_000_000;

/// A connected graph of `vertices` vertices with at most `degree` edges each, of small diameter and, among
/// those, of small average distance. Never worse than the random regular graph of the same seed, which the
/// search sets out from. `effort` bounds the elementary steps.
///
/// The search is simulated annealing by exchanges of edge ends. It tries graphs without symmetry and graphs
/// that a group maps onto themselves, as many of the best known graphs are. All groups share a first part of
/// the effort, the half of them that led to the best graphs share the next, and so on.
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
