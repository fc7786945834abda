//! All distances of a graph at once, by sets of bits: after step `k` the set of a vertex holds all within `k` edges.

/// How good a graph is; smaller is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Quality {
    /// Longest distance, in edges.
    pub diameter: u32,
    /// Distances of all ordered pairs, in edges.
    pub sum: u64,
    /// By how much the distances of all ordered pairs exceed the diameter to aim for, in edges.
    pub beyond: u64,
}

impl Quality {
    /// Worse than any connected graph.
    pub const WORST: Self = Self { diameter: u32::MAX, sum: u64::MAX, beyond: u64::MAX };
}

/// Elementary steps of one evaluation, for budgets: words read, for a diameter of about 4.
pub(super) fn cost(vertices: usize, degree: usize) -> u64 {
    (vertices * (degree + 2) * vertices.div_ceil(64) * 4).max(1) as u64
}

/// The quality of a graph given by neighbours; `None` if it is not connected. `aim` is the diameter to aim for.
pub(super) fn quality(vertices: usize, neighbours: &[Vec<u32>], aim: u32) -> Option<Quality> {
    let words = vertices.div_ceil(64);
    let mut now = vec![0u64; vertices * words];
    for v in 0..vertices {
        now[v * words + v / 64] |= 1 << (v % 64);
    }
    let mut next = now.clone();
    let all = (vertices * vertices) as u64;
    let (mut reached, mut sum, mut beyond, mut diameter) = (vertices as u64, 0, 0, 0);
    while reached < all {
        // Every pair not yet reached is at least one edge farther apart.
        sum += all - reached;
        beyond += if diameter >= aim { all - reached } else { 0 };
        diameter += 1;
        let before = reached;
        reached = 0;
        for (v, near) in neighbours.iter().enumerate() {
            let row = v * words..(v + 1) * words;
            for &u in near {
                let from = u as usize * words;
                for (to, word) in next[row.clone()].iter_mut().zip(&now[from..from + words]) {
                    *to |= word;
                }
            }
            reached += next[row].iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
        if reached == before {
            return None;
        }
        now.copy_from_slice(&next);
    }
    Some(Quality { diameter, sum, beyond })
}
