//! How much of the evaluation is simulated.

/// How much to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Visit lists per network; the paper had 10.
    pub lists: u32,
    /// Number of graphs that could be A, and of graphs that could be B, at most; the class has about 600 of
    /// each.
    pub graphs: usize,
    /// Seed of the visit lists.
    pub seed: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { lists: 400, graphs: usize::MAX, seed: 1 }
    }
}
