//! Circles of the channel dependency graph.

use super::walk::Graph;
use crate::network::ChannelId;

/// A smallest circle, or `None` if there is none. Among circles of that length, the one that begins with the
/// smallest state; it is turned so that it does.
pub(super) fn smallest(graph: &Graph) -> Option<Vec<(ChannelId, u8)>> {
    let left = peel(graph);
    let states: Vec<u32> = (0..graph.edges.len() as u32).filter(|&s| left[s as usize]).collect();
    let mut best: Option<Vec<u32>> = None;
    let mut search =
        Search { reached: vec![0; graph.edges.len()], from: vec![0; graph.edges.len()], stamp: 0 };
    for &start in &states {
        let limit = best.as_ref().map_or(usize::MAX, |b| b.len() - 1);
        if let Some(circle) = search.shortest_through(graph, &left, start, limit) {
            best = Some(circle);
        }
    }
    let vcs = graph.vcs;
    let named = |state: u32| (ChannelId(state / vcs), (state % vcs) as u8);
    best.map(|circle| circle.into_iter().map(named).collect())
}

/// The states that remain after removing, again and again, those that wait for nothing or that nothing waits for.
fn peel(graph: &Graph) -> Vec<bool> {
    let n = graph.edges.len();
    let (mut awaited, mut waits) = (vec![0u32; n], vec![0u32; n]);
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); n];
    for (state, edges) in graph.edges.iter().enumerate() {
        waits[state] = edges.len() as u32;
        for &next in edges {
            awaited[next as usize] += 1;
            before[next as usize].push(state as u32);
        }
    }
    let mut left = vec![true; n];
    let mut ready: Vec<u32> =
        (0..n as u32).filter(|&s| awaited[s as usize] == 0 || waits[s as usize] == 0).collect();
    while let Some(state) = ready.pop() {
        if !std::mem::replace(&mut left[state as usize], false) {
            continue;
        }
        for &next in &graph.edges[state as usize] {
            awaited[next as usize] -= 1;
            if awaited[next as usize] == 0 {
                ready.push(next);
            }
        }
        for &previous in &before[state as usize] {
            waits[previous as usize] -= 1;
            if waits[previous as usize] == 0 {
                ready.push(previous);
            }
        }
    }
    left
}

struct Search {
    reached: Vec<u32>,
    from: Vec<u32>,
    stamp: u32,
}

impl Search {
    /// The shortest circle through `start` with at most `limit` states, and with no state smaller than `start`:
    /// such a circle was found from that state.
    fn shortest_through(
        &mut self,
        graph: &Graph,
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
                for &next in graph.edges[state as usize].iter().filter(|&&n| n >= start && left[n as usize]) {
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
