//! A directed graph that refuses edges which would close a circle (Pearce and Kelly 2007: "A dynamic
//! topological sort algorithm for directed acyclic graphs").

/// What became of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insert {
    /// It was there already.
    Present,
    /// It is there now.
    Added,
    /// It would close a circle; the graph is unchanged.
    Refused,
}

/// The graph. Vertices are numbers.
#[derive(Clone)]
pub(super) struct Acyclic {
    /// `[vertex]`: where its edges lead to.
    out: Vec<Vec<u32>>,
    /// `[vertex]`: where edges to it come from.
    into: Vec<Vec<u32>>,
    /// A topological order: edges lead from lower to higher positions.
    position: Vec<u32>,
    /// `[vertex]`: number of the last search that met it.
    mark: Vec<u32>,
    /// Number of the present search.
    stamp: u32,
}

impl Acyclic {
    pub fn new(vertices: usize) -> Self {
        Self {
            out: vec![Vec::new(); vertices],
            into: vec![Vec::new(); vertices],
            position: (0..vertices as u32).collect(),
            mark: vec![0; vertices],
            stamp: 0,
        }
    }

    /// The graph of the given edges; `None` if they close a circle.
    pub fn of(vertices: usize, edges: impl Iterator<Item = (u32, u32)>) -> Option<Self> {
        let mut graph = Self::new(vertices);
        for (from, to) in edges {
            graph.out[from as usize].push(to);
            graph.into[to as usize].push(from);
        }
        let mut waits: Vec<usize> = graph.into.iter().map(Vec::len).collect();
        let mut order: Vec<u32> = (0..vertices as u32).filter(|&v| waits[v as usize] == 0).collect();
        let mut at = 0;
        while let Some(&v) = order.get(at) {
            graph.position[v as usize] = at as u32;
            at += 1;
            for &next in &graph.out[v as usize] {
                waits[next as usize] -= 1;
                if waits[next as usize] == 0 {
                    order.push(next);
                }
            }
        }
        (at == vertices).then_some(graph)
    }

    pub fn insert(&mut self, from: u32, to: u32) -> Insert {
        if self.out[from as usize].contains(&to) {
            return Insert::Present;
        }
        if from == to
            || (self.position[from as usize] > self.position[to as usize] && !self.reorder(from, to))
        {
            return Insert::Refused;
        }
        self.out[from as usize].push(to);
        self.into[to as usize].push(from);
        Insert::Added
    }

    /// Whether an edge would close a circle.
    pub fn closes(&mut self, from: u32, to: u32) -> bool {
        let limit = self.position[from as usize];
        from == to
            || (limit > self.position[to as usize]
                && self.collect(to, from, |position| position <= limit, false).is_none())
    }

    pub fn remove(&mut self, from: u32, to: u32) {
        self.out[from as usize].retain(|&v| v != to);
        self.into[to as usize].retain(|&v| v != from);
    }

    /// Moves the vertices that lead to `from` before those that `to` leads to; false if `to` leads to `from`.
    fn reorder(&mut self, from: u32, to: u32) -> bool {
        let (low, high) = (self.position[to as usize], self.position[from as usize]);
        let Some(mut after) = self.collect(to, from, |position| position <= high, false) else {
            return false;
        };
        // The second search meets no vertex of the first one: that would be a path from `to` to `from`.
        let Some(mut before) = self.collect(from, to, |position| position >= low, true) else { return false };
        after.sort_unstable_by_key(|&v| self.position[v as usize]);
        before.sort_unstable_by_key(|&v| self.position[v as usize]);
        before.append(&mut after);
        let mut places: Vec<u32> = before.iter().map(|&v| self.position[v as usize]).collect();
        places.sort_unstable();
        for (&v, place) in before.iter().zip(places) {
            self.position[v as usize] = place;
        }
        true
    }

    /// The vertices reachable from `start` (if `back`, those that reach it) at positions that `within`
    /// allows; `None` if `forbidden` is among them.
    fn collect(
        &mut self,
        start: u32,
        forbidden: u32,
        within: impl Fn(u32) -> bool,
        back: bool,
    ) -> Option<Vec<u32>> {
        self.stamp += 1;
        let stamp = self.stamp;
        let mut found = vec![start];
        self.mark[start as usize] = stamp;
        let mut head = 0;
        while let Some(&v) = found.get(head) {
            head += 1;
            let edges = if back { &self.into[v as usize] } else { &self.out[v as usize] };
            for &w in edges {
                if w == forbidden {
                    return None;
                }
                if self.mark[w as usize] != stamp && within(self.position[w as usize]) {
                    self.mark[w as usize] = stamp;
                    found.push(w);
                }
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Oracle: an edge closes a circle exactly if its head reaches its tail, by plain search.
    #[test]
    fn refuses_exactly_the_edges_that_close_a_circle() {
        for seed in 0..50 {
            let mut random = SplitMix64::new(seed);
            let n = 3 + random.below(20);
            let (mut graph, mut edges) = (Acyclic::new(n), vec![vec![false; n]; n]);
            for _ in 0..n * 8 {
                let (a, b) = (random.below(n), random.below(n));
                if random.below(5) == 0 {
                    graph.remove(a as u32, b as u32);
                    edges[a][b] = false;
                    continue;
                }
                let mut stack = vec![b];
                let mut seen = vec![false; n];
                while let Some(v) = stack.pop() {
                    if !std::mem::replace(&mut seen[v], true) {
                        stack.extend((0..n).filter(|&w| edges[v][w]));
                    }
                }
                let expected = match (edges[a][b], seen[a]) {
                    (true, _) => Insert::Present,
                    (false, true) => Insert::Refused,
                    (false, false) => Insert::Added,
                };
                assert_eq!(graph.closes(a as u32, b as u32), seen[a], "seed {seed}: edge {a} -> {b}");
                assert_eq!(graph.insert(a as u32, b as u32), expected, "seed {seed}: edge {a} -> {b}");
                edges[a][b] |= expected == Insert::Added;
            }
            // The whole graph made of all edges at once is accepted; with one more edge that closes a circle
            // it is not.
            let pairs = (0..n as u32).flat_map(|a| (0..n as u32).map(move |b| (a, b)));
            let all: Vec<(u32, u32)> = pairs.filter(|&(a, b)| edges[a as usize][b as usize]).collect();
            let whole = Acyclic::of(n, all.iter().copied()).expect("no circle");
            assert!(all.iter().all(|&(a, b)| whole.position[a as usize] < whole.position[b as usize]));
            if let Some(&(a, b)) = all.first() {
                assert!(Acyclic::of(n, all.iter().copied().chain([(b, a)])).is_none(), "seed {seed}");
            }
        }
    }
}
