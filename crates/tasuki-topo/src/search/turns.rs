//! Divides the effort of a search among groups of symmetries.

use super::anneal::{Best, anneal};
use super::distance::{Quality, evaluation};
use super::graph::Graph;
use super::group::Group;
use super::moore::least_sum;
use crate::random::SplitMix64;

/// Number of rounds of a search. Each shares the same effort among half of the groups of the round before.
const ROUNDS: u64 = 5;
/// Exchanges per orbit of edges that make one annealing; with more effort, another annealing begins.
const EXCHANGES: u64 = 3000;
/// The smallest number of exchanges that a group gets in the first round; if the effort is less, fewer groups
/// are tried.
const EXCHANGES_MIN: u64 = 200;
/// The largest number of elements of a group.
const GROUP_MAX: usize = 128;

/// The groups to try: all with which the graph has 2 orbits of vertices or more. Those of rotations alone
/// come first, each kind by size.
pub(super) fn groups(vertices: usize, degree: usize) -> Vec<Group> {
    let fits = |&size: &usize| vertices.is_multiple_of(size) && (vertices / size * degree).is_multiple_of(2);
    let sizes: Vec<usize> = (2..=GROUP_MAX.min(vertices / 2)).filter(fits).collect();
    let all: Vec<Vec<Group>> = sizes.into_iter().map(Group::all).collect();
    let rotations = all.iter().map(|of_size| &of_size[..1]);
    let twisted = all.iter().map(|of_size| &of_size[1..]);
    std::iter::once(Group::none()).chain(rotations.chain(twisted).flatten().cloned()).collect()
}

/// A search for a graph.
pub(super) struct Search<'a> {
    pub vertices: usize,
    pub degree: usize,
    /// A graph without symmetry to set out from.
    pub first: Graph<'a>,
}

/// A group, with the best graph found so far among those that it maps onto themselves.
type Turn<'a> = (Best, &'a Group);

impl<'a> Search<'a> {
    /// Searches with all groups, then with the half of them that led to the best graphs, and so on. `start`
    /// is the first graph with its quality.
    pub fn run(&self, groups: &'a [Group], start: Best, effort: u64, random: &mut SplitMix64) -> Turn<'a> {
        let round = effort / ROUNDS;
        let most = round / (EXCHANGES_MIN * evaluation(self.vertices, self.degree, 1));
        let nothing = (Quality::WORST, Vec::new());
        let mut turns: Vec<Turn> = groups.iter().map(|group| (nothing.clone(), group)).collect();
        turns.truncate(most.max(1) as usize);
        turns[0].0 = start;
        for _ in 0..ROUNDS {
            let share = round / turns.len() as u64;
            for turn in &mut turns {
                self.take(turn, share, random);
                if turn.0.0.sum <= least_sum(self.vertices, self.degree) {
                    return turn.clone();
                }
            }
            turns.sort_by_key(|(best, _)| best.0);
            turns.truncate(turns.len().div_ceil(2));
        }
        turns.swap_remove(0)
    }

    /// Spends effort on one group. If there are few orbits, there are few graphs, and several short
    /// annealings from different graphs find more than a long one.
    fn take(&self, (best, group): &mut Turn<'a>, effort: u64, random: &mut SplitMix64) {
        let (vertices, degree) = (self.vertices, self.degree);
        let evaluation = evaluation(vertices, degree, group.size());
        let whole = EXCHANGES * (vertices * degree / 2 / group.size()).max(1) as u64 * evaluation;
        let runs = (effort / whole).max(1);
        for _ in 0..runs {
            let graph = match group.size() {
                1 => Some(self.first.clone()),
                _ => Graph::random(vertices, degree, group, random),
            };
            let Some(graph) = graph else { break };
            let found = anneal(graph, vertices, degree, effort / runs, random);
            if found.0 < best.0 {
                *best = found;
            }
        }
    }
}
