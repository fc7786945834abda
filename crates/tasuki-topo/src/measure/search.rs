//! Branch and bound over the sides of the searched vertices.

use super::partition::{Partition, Side};
use crate::network::HostId;

/// Searches for halves with a smaller cut than `upper`, the cut of `side`. Returns the smallest cut found,
/// its half, and whether the search was complete, so that no cut is smaller. No cut is below `enough`, so
/// that the search is also complete once it finds that.
pub(super) fn search(
    partition: &mut Partition,
    upper: u64,
    side: Vec<HostId>,
    enough: u64,
) -> (u64, Vec<HostId>, bool) {
    let n = partition.edges.len();
    let order = partition.order(0);
    let mut state = State::new(n);
    let (mut best, mut best_side) = (upper, side);
    // `next[depth]` numbers the choice to try next at that depth. The first vertex goes to side A without
    // loss of generality, because side A may have either half.
    let mut next = vec![0u8; n + 1];
    let mut depth = 0;
    while partition.effort > 0 {
        if depth == n {
            let cost = partition.cost(&state.sides);
            if cost < best {
                (best, best_side) = (cost, partition.hosts_in_a(&state.sides));
            }
            if best <= enough {
                return (best, best_side, true);
            }
        }
        let choices = if depth == 0 { 1 } else { 2 };
        if depth < n && next[depth] < choices {
            let v = order[depth];
            let nearer_a = state.to_a[v] >= state.to_b[v];
            let side = if (next[depth] == 0) == nearer_a { Side::A } else { Side::B };
            next[depth] += 1;
            state.assign(partition, v, side);
            if state.bound(partition, best) < best {
                depth += 1;
                next[depth] = 0;
            } else {
                state.open(partition, v);
            }
            continue;
        }
        if depth == 0 {
            return (best, best_side, true);
        }
        depth -= 1;
        state.open(partition, order[depth]);
    }
    (best, best_side, false)
}

/// The sides chosen so far, and what follows from them.
struct State {
    sides: Vec<Side>,
    /// `[vertex]`: capacity to vertices on side A.
    to_a: Vec<u64>,
    /// `[vertex]`: capacity to vertices on side B.
    to_b: Vec<u64>,
    /// Capacity between the sides.
    cut: u64,
    /// Lower bound of what open vertices will add to the cut: the sum of the lesser of their two capacities.
    coming: u64,
}

impl State {
    fn new(n: usize) -> Self {
        Self { sides: vec![Side::Open; n], to_a: vec![0; n], to_b: vec![0; n], cut: 0, coming: 0 }
    }

    fn least(&self, v: usize) -> u64 {
        self.to_a[v].min(self.to_b[v])
    }

    fn across(&self, v: usize, side: Side) -> u64 {
        if side == Side::A { self.to_b[v] } else { self.to_a[v] }
    }

    fn assign(&mut self, partition: &mut Partition, v: usize, side: Side) {
        self.coming -= self.least(v);
        self.cut += self.across(v, side);
        self.sides[v] = side;
        self.update(partition, v, side, u64::wrapping_add);
    }

    fn open(&mut self, partition: &mut Partition, v: usize) {
        let side = std::mem::replace(&mut self.sides[v], Side::Open);
        self.update(partition, v, side, u64::wrapping_sub);
        self.cut -= self.across(v, side);
        self.coming += self.least(v);
    }

    fn update(&mut self, partition: &mut Partition, v: usize, side: Side, change: impl Fn(u64, u64) -> u64) {
        partition.effort = partition.effort.saturating_sub(1 + partition.edges[v].len() as u64);
        for &(to, capacity) in &partition.edges[v] {
            let before = self.least(to);
            let sum = if side == Side::A { &mut self.to_a[to] } else { &mut self.to_b[to] };
            *sum = change(*sum, capacity);
            if self.sides[to] == Side::Open {
                self.coming = self.coming + self.least(to) - before;
            }
        }
    }

    /// A lower bound of the cost of all completions. The hosts are taken into account only if the cut alone
    /// does not reach `best`.
    fn bound(&self, partition: &mut Partition, best: u64) -> u64 {
        let cut = self.cut + self.coming;
        if cut >= best {
            return cut;
        }
        partition.effort = partition.effort.saturating_sub(partition.step_place);
        cut.saturating_add(partition.place_at_least(&self.sides))
    }
}
