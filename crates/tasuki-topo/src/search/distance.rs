//! All distances of a graph at once, by sets of bits: after step `k` the set of a vertex holds all within `k`
//! edges.

use super::least_diameter;
use crate::within::within;

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

/// The additional cost of a distance beyond the diameter to aim for, per edge of excess. The diameter itself
/// is no measure of progress, as one pair decides it, and the sum of distances alone is often least for a
/// graph with a larger diameter.
const BEYOND: u64 = 4;

impl Quality {
    /// The sum of distances, in which those beyond the diameter to aim for weigh more.
    pub fn energy(self) -> u64 {
        self.sum.saturating_add(self.beyond.saturating_mul(BEYOND))
    }
}

/// Elementary steps that one exchange and its evaluation count as. Chosen so that an elementary step takes
/// about the same time in graphs of all sizes.
pub(super) fn evaluation(vertices: usize, degree: usize, size: usize) -> u64 {
    if vertices <= 64 {
        return (64 + vertices / size * vertices / 8 + 4 * size) as u64;
    }
    let rounds = least_diameter(vertices, degree) as usize;
    (vertices * (degree + 1) * rounds * (vertices.div_ceil(64) + 2) / 5) as u64
}

/// The quality of a graph of up to 64 vertices given by the neighbours of each as bits; `None` if it is not
/// connected. Vertex `k size` stands for itself and its images, the `size - 1` vertices behind it. `aim` is
/// the diameter to aim for.
pub(super) fn of_words(near: &[u64], size: usize, aim: u32) -> Option<Quality> {
    let all = u64::MAX >> (64 - near.len().clamp(1, 64));
    let mut quality = Quality { diameter: 0, sum: 0, beyond: 0 };
    for from in (0..near.len()).step_by(size) {
        let (mut left, mut edge, mut far) = (all & !(1 << from), 1 << from, 0);
        while left != 0 {
            // Every round adds 1 for each vertex not yet reached: in all, its distance.
            let count = u64::from(left.count_ones());
            quality.sum += count;
            quality.beyond += if far >= aim { count } else { 0 };
            far += 1;
            edge = next(near, edge, left);
            if edge == 0 {
                return None;
            }
            left &= !edge;
        }
        quality.diameter = quality.diameter.max(far);
    }
    (quality.sum, quality.beyond) = (quality.sum * size as u64, quality.beyond * size as u64);
    Some(quality)
}

/// The vertices of `left` that have a neighbour in `edge`, the vertices reached in the last round. The search
/// goes over the smaller of the two sets.
fn next(near: &[u64], edge: u64, left: u64) -> u64 {
    if left.count_ones() > edge.count_ones() {
        return bits(edge).fold(0, |found, v| found | near[v]) & left;
    }
    bits(left).filter(|&v| near[v] & edge != 0).fold(0, |found, v| found | 1 << v)
}

fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = set.trailing_zeros() as usize;
        let is_any = set != 0;
        set &= set.wrapping_sub(1);
        is_any.then_some(at)
    })
}

/// The quality of a graph given by neighbours; `None` if it is not connected. `aim` is the diameter to aim
/// for.
pub(super) fn of_sets(neighbours: &[Vec<u32>], aim: u32) -> Option<Quality> {
    let all = (neighbours.len() * neighbours.len()) as u64;
    let reached = within(neighbours, neighbours.len(), |_| true);
    // Every round adds 1 for each pair not yet reached: in all, its distance.
    let left = |pairs: &u64| all - pairs;
    let (sum, beyond) = (reached.iter().map(left).sum(), reached.iter().skip(aim as usize).map(left).sum());
    (reached.last() == Some(&all)).then_some(Quality { diameter: reached.len() as u32 - 1, sum, beyond })
}
