//! Exchanges of the ends of edges, which leave degrees as they are.

use super::graph::{Graph, Orbit};
use crate::random::SplitMix64;

/// One or two orbits of edges and what to put in their place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    /// Indices of the orbits in the graph's list of edges; both are the same if it is one orbit.
    at: [usize; 2],
    /// The orbits that replace them.
    new: [Option<Orbit>; 2],
}

impl Exchange {
    /// Draws an exchange and carries it out on the neighbours of a graph; [`keep`](Self::keep) or
    /// [`undo`](Self::undo) must follow. `None`, and nothing done, if the draw would change a degree or
    /// double an edge.
    pub fn attempt(graph: &mut Graph, random: &mut SplitMix64) -> Option<Self> {
        let count = graph.edges.len();
        let at = [random.below(count), random.below(count)];
        let (first, second) = (*graph.edges.get(at[0])?, *graph.edges.get(at[1])?);
        let new = if at[0] == at[1] {
            shifted(graph, first, random)?
        } else {
            joined(graph, first, second, random)?
        };
        let this = Self { at, new };
        this.old(graph).for_each(|edge| graph.unplug(edge));
        for (done, edge) in new.into_iter().flatten().enumerate() {
            if !graph.is_free(edge) {
                new.into_iter().flatten().take(done).for_each(|edge| graph.unplug(edge));
                this.old(graph).for_each(|edge| graph.plug(edge));
                return None;
            }
            graph.plug(edge);
        }
        Some(this)
    }

    /// The orbits that are replaced; the graph still lists them.
    fn old(self, graph: &Graph) -> impl Iterator<Item = Orbit> + use<> {
        let [first, second] = self.at.map(|at| graph.edges[at]);
        let other = (self.at[0] != self.at[1]).then_some(second);
        std::iter::once(first).chain(other)
    }

    /// Makes the exchange final: the list of edges follows the neighbours.
    pub fn keep(self, graph: &mut Graph) {
        let [first, second] = self.at;
        graph.edges.swap_remove(first.max(second));
        if first != second {
            graph.edges.swap_remove(first.min(second));
        }
        graph.edges.extend(self.new.into_iter().flatten());
    }

    /// Takes the exchange back.
    pub fn undo(self, graph: &mut Graph) {
        self.new.into_iter().flatten().for_each(|edge| graph.unplug(edge));
        self.old(graph).for_each(|edge| graph.plug(edge));
    }
}

/// An orbit of edges between two orbits of vertices, with a shift drawn at random.
fn drawn(graph: &Graph, a: u32, b: u32, random: &mut SplitMix64) -> Orbit {
    Orbit { a, b, shift: random.below(graph.group.size()) as u32 }
}

/// Replaces one orbit of edges by one with another shift or, inside an orbit of vertices, by two halves (see
/// [`Graph::is_half`]).
fn shifted(graph: &Graph, edge: Orbit, random: &mut SplitMix64) -> Option<[Option<Orbit>; 2]> {
    let mut draw = || drawn(graph, edge.a, edge.b, random);
    let (one, two) = (draw(), draw());
    match (graph.is_half(edge), graph.is_half(one), graph.is_half(two)) {
        (true, true, _) | (false, false, _) => Some([Some(one), None]),
        (false, true, true) => Some([Some(one), Some(two)]),
        _ => None,
    }
}

/// Exchanges the ends of two orbits of edges. Inside an orbit of vertices, a half (see [`Graph::is_half`])
/// has one end at every vertex, any other orbit of edges has two.
fn joined(graph: &Graph, first: Orbit, second: Orbit, random: &mut SplitMix64) -> Option<[Option<Orbit>; 2]> {
    let (half, whole) = if graph.is_half(second) { (second, first) } else { (first, second) };
    let (c, d) = if random.below(2) == 1 { (whole.b, whole.a) } else { (whole.a, whole.b) };
    let (new, halves) = match (graph.is_half(half), graph.is_half(whole)) {
        (true, true) => ([Some(drawn(graph, half.a, whole.a, random)), None], [false, false]),
        (true, false) => {
            let new = [drawn(graph, half.a, c, random), drawn(graph, d, d, random)];
            (new.map(Some), [false, true])
        }
        _ => {
            let new = [drawn(graph, half.a, d, random), drawn(graph, c, half.b, random)];
            (new.map(Some), [false, false])
        }
    };
    let fits = |(edge, half): (Option<Orbit>, bool)| edge.is_none_or(|edge| graph.is_half(edge) == half);
    new.into_iter().zip(halves).all(fits).then_some(new)
}
