//! Graphs that a rotation maps onto themselves, by one edge of every orbit.
//!
//! With a rotation of `size`, vertex `orbit * size + k` goes to `orbit * size + (k + 1) % size`. A size of 1 is any
//! graph at all.

use crate::random::SplitMix64;
use crate::shapes::regular_edges;

/// An orbit of edges: from `k` of orbit `a` to `k + shift` of orbit `b`, for all `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orbit {
    pub a: u32,
    pub b: u32,
    pub shift: u32,
}

/// A graph as orbits of edges.
#[derive(Clone, Debug)]
pub(super) struct Rotations {
    pub size: usize,
    pub orbits: usize,
    pub edges: Vec<Orbit>,
}

impl Rotations {
    /// A random regular graph, without rotations.
    pub fn regular(vertices: usize, degree: usize, random: &mut SplitMix64) -> Self {
        let edges = regular_edges(vertices, degree, random);
        let orbit = |(a, b)| Orbit { a: a as u32, b: b as u32, shift: 0 };
        Self { size: 1, orbits: vertices, edges: edges.into_iter().map(orbit).collect() }
    }

    /// A random simple graph with a rotation; `None` if none was met with (dense graphs of few orbits).
    pub fn random(vertices: usize, degree: usize, size: usize, random: &mut SplitMix64) -> Option<Self> {
        let orbits = vertices / size;
        let mut ends: Vec<u32> = (0..orbits as u32).flat_map(|orbit| vec![orbit; degree]).collect();
        for _ in 0..50 {
            random.shuffle(&mut ends);
            let mut graph = Self { size, orbits, edges: Vec::new() };
            let placed = ends.chunks_exact(2).all(|pair| {
                // Shifts that others have taken are drawn again.
                (0..20).any(|_| {
                    let shift = random.below(size) as u32;
                    graph.add(Orbit { a: pair[0], b: pair[1], shift })
                })
            });
            if placed {
                return Some(graph);
            }
        }
        None
    }

    fn add(&mut self, edge: Orbit) -> bool {
        let is_new = self.is_simple(edge) && !self.is_at(edge, 0..self.edges.len());
        if is_new {
            self.edges.push(edge);
        }
        is_new
    }

    /// Whether an orbit has no loops and gives two ends of edges to every vertex, or one to each of two orbits.
    pub fn is_simple(&self, edge: Orbit) -> bool {
        edge.a != edge.b || !(edge.shift * 2).is_multiple_of(self.size as u32)
    }

    /// Whether an orbit of edges is at one of these places, seen from either end.
    pub fn is_at(&self, edge: Orbit, places: impl IntoIterator<Item = usize>) -> bool {
        let size = self.size as u32;
        let back = Orbit { a: edge.b, b: edge.a, shift: (size - edge.shift) % size };
        places.into_iter().any(|at| self.edges[at] == edge || self.edges[at] == back)
    }

    /// Whether the graph, given by its neighbours, has the edges of an orbit.
    pub fn joins(&self, neighbours: &[Vec<u32>], edge: Orbit) -> bool {
        self.spread(edge).next().is_some_and(|(a, b)| neighbours[a as usize].contains(&b))
    }

    pub fn vertices(&self) -> usize {
        self.size * self.orbits
    }

    /// Both ends of all edges of an orbit.
    pub fn spread(&self, edge: Orbit) -> impl Iterator<Item = (u32, u32)> + use<> {
        let size = self.size as u32;
        (0..size).map(move |k| (edge.a * size + k, edge.b * size + (k + edge.shift) % size))
    }

    pub fn neighbours(&self) -> Vec<Vec<u32>> {
        let mut neighbours = vec![Vec::new(); self.vertices()];
        for (a, b) in self.edges.iter().flat_map(|&edge| self.spread(edge)) {
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
        }
        neighbours
    }

    /// All edges, ascending.
    pub fn edges(&self) -> Vec<(usize, usize)> {
        let ordered = |(a, b): (u32, u32)| (a.min(b) as usize, a.max(b) as usize);
        let mut edges: Vec<_> = self.edges.iter().flat_map(|&edge| self.spread(edge)).map(ordered).collect();
        edges.sort_unstable();
        edges
    }
}
