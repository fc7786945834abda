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
        let fits = self.fits(edge, usize::MAX, usize::MAX);
        if fits {
            self.edges.push(edge);
        }
        fits
    }

    /// Whether an orbit can join, were it not for the two at `except`: no loops, no edge twice, and every orbit gives
    /// two ends.
    pub fn fits(&self, edge: Orbit, except: usize, other: usize) -> bool {
        let size = self.size as u32;
        if edge.a == edge.b && (edge.shift * 2).is_multiple_of(size) {
            return false;
        }
        let back = (size - edge.shift) % size;
        self.edges.iter().enumerate().all(|(i, &old)| {
            let same = old == edge || old == Orbit { a: edge.b, b: edge.a, shift: back };
            i == except || i == other || !same
        })
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
