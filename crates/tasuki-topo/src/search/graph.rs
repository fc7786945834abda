//! Graphs that a group maps onto themselves, given by one edge of every orbit of edges.
//!
//! Vertex `orbit * size + k` is element `k` of an orbit. Element `h` of the group takes it to element `h k`.
//! With the group of one element, this is any graph at all.

use super::distance::{Quality, of_sets, of_words};
use super::group::Group;
use crate::random::SplitMix64;
use crate::shapes::regular_edges;

/// An orbit of edges: from element `k` of orbit `a` to element `k shift` of orbit `b`, for all `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orbit {
    pub a: u32,
    pub b: u32,
    pub shift: u32,
}

/// A graph as orbits of edges.
#[derive(Clone, Debug)]
pub(super) struct Graph<'a> {
    pub group: &'a Group,
    pub edges: Vec<Orbit>,
    near: Near,
}

/// Neighbours of all vertices.
#[derive(Clone, Debug)]
enum Near {
    /// For up to 64 vertices: the neighbours of each as bits.
    Words(Vec<u64>),
    Lists(Vec<Vec<u32>>),
}

impl<'a> Graph<'a> {
    fn empty(vertices: usize, group: &'a Group) -> Self {
        let near = match vertices {
            0..=64 => Near::Words(vec![0; vertices]),
            _ => Near::Lists(vec![Vec::new(); vertices]),
        };
        Self { group, edges: Vec::new(), near }
    }

    /// The graph of these orbits of edges, which must be distinct and no loops.
    pub fn of(vertices: usize, group: &'a Group, edges: Vec<Orbit>) -> Self {
        let mut graph = Self::empty(vertices, group);
        edges.iter().for_each(|&edge| graph.plug(edge));
        Self { edges, ..graph }
    }

    /// A random regular graph, without symmetry: one edge per orbit.
    pub fn regular(vertices: usize, degree: usize, random: &mut SplitMix64) -> Vec<Orbit> {
        let edges = regular_edges(vertices, degree, random);
        edges.into_iter().map(|(a, b)| Orbit { a: a as u32, b: b as u32, shift: 0 }).collect()
    }

    /// A random simple graph with a symmetry; `None` if none was found, as for dense graphs of few orbits.
    pub fn random(vertices: usize, degree: usize, group: &'a Group, random: &mut SplitMix64) -> Option<Self> {
        let orbits = (vertices / group.size()) as u32;
        let mut ends: Vec<u32> = (0..orbits).flat_map(|orbit| vec![orbit; degree]).collect();
        for _ in 0..50 {
            random.shuffle(&mut ends);
            let mut graph = Self::empty(vertices, group);
            // A shift that would double an edge is drawn again, up to 40 times.
            let mut place = |pair: &[u32]| (0..40).any(|_| graph.add(pair[0], pair[1], random));
            if ends.chunks_exact(2).all(&mut place) {
                return Some(graph);
            }
        }
        None
    }

    /// Adds an orbit of edges with a random shift; inside an orbit of vertices perhaps two halves (see
    /// [`Self::is_half`]).
    fn add(&mut self, a: u32, b: u32, random: &mut SplitMix64) -> bool {
        let mut draw = || Orbit { a, b, shift: random.below(self.group.size()) as u32 };
        let edge = draw();
        if !self.is_half(edge) {
            return self.push(edge);
        }
        let other = draw();
        if !self.is_half(other) || !self.push(edge) {
            return false;
        }
        let both = self.push(other);
        if !both {
            self.edges.pop();
            self.unplug(edge);
        }
        both
    }

    fn push(&mut self, edge: Orbit) -> bool {
        let is_new = self.is_free(edge);
        if is_new {
            self.plug(edge);
            self.edges.push(edge);
        }
        is_new
    }

    /// Whether each edge of an orbit is its own image, so that every vertex has one end of them and not two.
    pub fn is_half(&self, edge: Orbit) -> bool {
        edge.a == edge.b && self.group.is_own_inverse(edge.shift as usize)
    }

    /// Whether the edges of an orbit could be added: the graph lacks them, and they are no loops.
    pub fn is_free(&self, edge: Orbit) -> bool {
        let (a, b) = self.ends(edge, 0);
        a != b
            && match &self.near {
                Near::Words(words) => words[a] >> b & 1 == 0,
                Near::Lists(lists) => !lists[a].contains(&(b as u32)),
            }
    }

    /// Both ends of the edge of an orbit at element `k`.
    fn ends(&self, edge: Orbit, k: usize) -> (usize, usize) {
        let size = self.group.size();
        (edge.a as usize * size + k, edge.b as usize * size + self.group.product(k, edge.shift as usize))
    }

    /// Puts the edges of an orbit in.
    pub fn plug(&mut self, edge: Orbit) {
        self.each_way(edge, |near, a, b| match near {
            Near::Words(words) => words[a] |= 1 << b,
            Near::Lists(lists) => lists[a].push(b as u32),
        });
    }

    /// Takes the edges of an orbit out.
    pub fn unplug(&mut self, edge: Orbit) {
        self.each_way(edge, |near, a, b| match near {
            Near::Words(words) => words[a] &= !(1 << b),
            Near::Lists(lists) => {
                if let Some(at) = lists[a].iter().position(|&v| v == b as u32) {
                    lists[a].swap_remove(at);
                }
            }
        });
    }

    fn each_way(&mut self, edge: Orbit, mut act: impl FnMut(&mut Near, usize, usize)) {
        let is_half = self.is_half(edge);
        for k in 0..self.group.size() {
            let (a, b) = self.ends(edge, k);
            act(&mut self.near, a, b);
            if !is_half {
                act(&mut self.near, b, a);
            }
        }
    }

    /// The quality; `None` if the graph is not connected. `aim` is the diameter to aim for.
    pub fn quality(&self, aim: u32) -> Option<Quality> {
        match &self.near {
            Near::Words(words) => of_words(words, self.group.size(), aim),
            Near::Lists(lists) => of_sets(lists, aim),
        }
    }

    /// All edges, ascending.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        let all = self.edges.iter().flat_map(|&edge| (0..self.group.size()).map(move |k| (edge, k)));
        let mut pairs: Vec<_> =
            all.map(|(edge, k)| self.ends(edge, k)).map(|(a, b)| (a.min(b), a.max(b))).collect();
        pairs.sort_unstable();
        // Edges that are their own images are listed twice.
        pairs.dedup();
        pairs
    }
}
