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

/// Elementary steps of one evaluation, for budgets: words read, for a diameter of about 4. Sets that fit a word stay in registers and
/// the first-level cache: a third of the time.
pub(super) fn cost(vertices: usize, degree: usize) -> u64 {
    let words = (vertices * (degree + 2) * vertices.div_ceil(64) * 4) as u64;
    if vertices <= 64 { words.div_ceil(3) } else { words }.max(1)
}

/// The quality of a graph given by neighbours; `None` if it is not connected. `aim` is the diameter to aim for.
pub(super) fn quality(vertices: usize, neighbours: &[Vec<u32>], aim: u32) -> Option<Quality> {
    let mut so_far = SoFar::new(vertices, aim);
    if vertices <= 64 {
        let mut now: [u64; 64] = std::array::from_fn(|v| 1 << v);
        return so_far.grow(|| {
            let mut next = now;
            let mut reached = 0;
            for (near, set) in neighbours.iter().zip(&mut next) {
                // A number below 64 is itself; the compiler sees that it is one.
                *set = near.iter().fold(*set, |set, &u| set | now[(u % 64) as usize]);
                reached += u64::from(set.count_ones());
            }
            now = next;
            reached
        });
    }
    let words = vertices.div_ceil(64);
    let mut now = vec![0u64; vertices * words];
    for v in 0..vertices {
        now[v * words + v / 64] |= 1 << (v % 64);
    }
    let mut next = now.clone();
    so_far.grow(|| {
        let mut reached = 0;
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
        now.copy_from_slice(&next);
        reached
    })
}

/// What is known after some steps.
struct SoFar {
    aim: u32,
    /// Ordered pairs, each vertex with itself included.
    all: u64,
    reached: u64,
    quality: Quality,
}

impl SoFar {
    fn new(vertices: usize, aim: u32) -> Self {
        let quality = Quality { diameter: 0, sum: 0, beyond: 0 };
        Self { aim, all: (vertices * vertices) as u64, reached: vertices as u64, quality }
    }

    /// Lets all sets grow by one edge until they hold all; `step` does so and says how many pairs are reached then.
    #[inline]
    fn grow(&mut self, mut step: impl FnMut() -> u64) -> Option<Quality> {
        while self.reached < self.all {
            // Every pair not yet reached is at least one edge farther apart.
            let left = self.all - self.reached;
            self.quality.sum += left;
            self.quality.beyond += if self.quality.diameter >= self.aim { left } else { 0 };
            self.quality.diameter += 1;
            let before = std::mem::replace(&mut self.reached, step());
            if self.reached == before {
                return None;
            }
        }
        Some(self.quality)
    }
}
