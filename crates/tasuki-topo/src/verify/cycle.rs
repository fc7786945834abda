//! Circles of the channel dependency graph.

use super::walk::Graph;
use crate::network::ChannelId;

/// A smallest circle, or `None` if there is none. It begins with its smallest state; among circles of the
/// same length it is the one whose smallest state is smallest.
pub(super) fn smallest(graph: &Graph) -> Option<Vec<(ChannelId, u8)>> {
    let forward = Lists::new(graph.states, graph.edges.iter().copied());
    let left = peel(graph, &forward);
    let states: Vec<u32> = (0..graph.states as u32).filter(|&s| left[s as usize]).collect();
    if states.is_empty() {
        return None;
    }
    let mut best: Option<Vec<u32>> = None;
    let mut search = Search { reached: vec![0; graph.states], from: vec![0; graph.states], stamp: 0 };
    for &start in &states {
        let limit = best.as_ref().map_or(usize::MAX, |b| b.len() - 1);
        if let Some(circle) = search.shortest_through(&forward, &left, start, limit) {
            best = Some(circle);
        }
    }
    let vcs = graph.vcs;
    let named = |state: u32| (ChannelId(state / vcs), (state % vcs) as u8);
    best.map(|circle| circle.into_iter().map(named).collect())
}

/// For every state, the states at the other ends of its edges.
struct Lists {
    first: Vec<u32>,
    ends: Vec<u32>,
}

impl Lists {
    fn new(states: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut first = vec![0; states + 1];
        let mut count = 0;
        for (state, _) in edges.clone() {
            first[state as usize + 1] += 1;
            count += 1;
        }
        for state in 0..states {
            first[state + 1] += first[state];
        }
        let (mut fill, mut ends) = (first.clone(), vec![0; count]);
        for (state, end) in edges {
            ends[fill[state as usize] as usize] = end;
            fill[state as usize] += 1;
        }
        Self { first, ends }
    }

    fn of(&self, state: u32) -> &[u32] {
        &self.ends[self.first[state as usize] as usize..self.first[state as usize + 1] as usize]
    }
}

/// The states that remain after removing, again and again, those that wait for nothing or that nothing waits
/// for.
fn peel(graph: &Graph, forward: &Lists) -> Vec<bool> {
    let back = Lists::new(graph.states, graph.edges.iter().map(|&(a, b)| (b, a)));
    let states = || 0..graph.states as u32;
    let count = |lists: &Lists| states().map(|s| lists.of(s).len() as u32).collect::<Vec<u32>>();
    let (mut waits, mut awaited) = (count(forward), count(&back));
    let mut left = vec![true; graph.states];
    let mut ready: Vec<u32> =
        states().filter(|&s| awaited[s as usize] == 0 || waits[s as usize] == 0).collect();
    while let Some(state) = ready.pop() {
        if !std::mem::replace(&mut left[state as usize], false) {
            continue;
        }
        for (others, lists) in [(&mut awaited, forward), (&mut waits, &back)] {
            for &other in lists.of(state) {
                others[other as usize] -= 1;
                if others[other as usize] == 0 {
                    ready.push(other);
                }
            }
        }
    }
    left
}

/// Breadth-first searches that share their memory.
struct Search {
    /// `[state]`: number of the last search that reached it.
    reached: Vec<u32>,
    /// `[state]`: the state from which it was reached.
    from: Vec<u32>,
    /// Number of the present search.
    stamp: u32,
}

impl Search {
    /// The shortest circle through `start` with at most `limit` states and with no state smaller than
    /// `start`. (A circle with a smaller state is found by the search from that state.)
    fn shortest_through(
        &mut self,
        forward: &Lists,
        left: &[bool],
        start: u32,
        limit: usize,
    ) -> Option<Vec<u32>> {
        self.stamp += 1;
        let mut ring = vec![start];
        self.reached[start as usize] = self.stamp;
        let mut length = 1;
        while !ring.is_empty() && length <= limit {
            let mut next_ring = Vec::new();
            for &state in &ring {
                for &next in forward.of(state).iter().filter(|&&n| n >= start && left[n as usize]) {
                    if next == start {
                        return Some(self.back(start, state));
                    }
                    if self.reached[next as usize] != self.stamp {
                        self.reached[next as usize] = self.stamp;
                        self.from[next as usize] = state;
                        next_ring.push(next);
                    }
                }
            }
            ring = next_ring;
            length += 1;
        }
        None
    }

    /// The circle that ends with the edge from `last` to `start`.
    fn back(&self, start: u32, last: u32) -> Vec<u32> {
        let mut circle = vec![last];
        let mut at = last;
        while at != start {
            at = self.from[at as usize];
            circle.push(at);
        }
        circle.reverse();
        circle
    }
}
