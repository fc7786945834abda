//! Which groups of symmetries are searched for how long.

use super::anneal::{Best, anneal};
use super::distance::{Quality, evaluation};
use super::graph::Graph;
use super::group::Group;
use super::moore::least_sum;
use crate::random::SplitMix64;

/// Rounds of a search; in each, half of the groups of the one before share the effort.
const ROUNDS: u64 = 5;
/// Exchanges per orbit of edges after which an annealing has come to its end.
const EXCHANGES: u64 = 3000;
/// Exchanges that a group is given in the first round at the least; with less effort there are fewer groups.
const LEAST: u64 = 200;
/// Most elements of a group.
const GROUP_MAX: usize = 128;

/// The groups to try, those of rotations alone first, by size: those that leave 2 orbits or more.
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

/// A group, and the best graph found that it maps onto itself.
type Turn<'a> = (Best, &'a Group);

impl<'a> Search<'a> {
    /// Searches with all groups, then with those that came to the best graphs, and so on. `start` is the quality of the first graph.
    pub fn run(&self, groups: &'a [Group], start: Best, effort: u64, random: &mut SplitMix64) -> Turn<'a> {
        let round = effort / ROUNDS;
        let most = round / (LEAST * evaluation(self.vertices, self.degree, 1));
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

    /// One turn of a group. Few orbits have few graphs: starting again finds more than going on.
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
