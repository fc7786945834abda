//! Which ranks can never go on: a wait-for graph in which one of those that are waited for is enough
//! (the OR model of E. Knapp, "Deadlock detection in distributed databases", 1987).
//!
//! A rank that waits goes on if a rank that it waits for does. So those that can go on are found from the
//! ranks that do not wait, backwards; all others wait for each other, or for ranks that have ended.

use std::collections::{BTreeMap, BTreeSet};

/// What a rank does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// It may go on by itself.
    Free,
    /// It goes on if one of these does.
    Waits(BTreeSet<u32>),
    /// It goes on if any other rank does.
    WaitsForAny,
    /// It sends and receives nothing any more.
    Ended,
}

/// The ranks that wait and can never go on. Those that have ended are not among them.
pub(crate) fn stuck(ranks: &BTreeMap<u32, Rank>) -> BTreeSet<u32> {
    let of = |wanted: fn(&Rank) -> bool| {
        ranks.iter().filter(move |(_, rank)| wanted(rank)).map(|(&number, _)| number)
    };
    let mut free: BTreeSet<u32> = of(|rank| *rank == Rank::Free).collect();
    loop {
        let goes_on = |rank: &Rank| match rank {
            // A rank of which nothing is known may do anything.
            Rank::Waits(whom) => whom.iter().any(|who| free.contains(who) || !ranks.contains_key(who)),
            Rank::WaitsForAny => !free.is_empty(),
            Rank::Free | Rank::Ended => false,
        };
        let more: Vec<u32> = ranks
            .iter()
            .filter(|(number, rank)| !free.contains(number) && goes_on(rank))
            .map(|(&number, _)| number)
            .collect();
        if more.is_empty() {
            break;
        }
        free.extend(more);
    }
    of(|rank| matches!(rank, Rank::Waits(_) | Rank::WaitsForAny))
        .filter(|rank| !free.contains(rank))
        .collect()
}

/// Ranks of which each waits for the next one and the last one for the first one; none if there are none such
/// among those that are stuck.
pub(crate) fn circle(ranks: &BTreeMap<u32, Rank>, stuck: &BTreeSet<u32>) -> Vec<u32> {
    let next = |from: &u32| match ranks.get(from)? {
        Rank::Waits(whom) => whom.iter().find(|who| stuck.contains(who)).copied(),
        _ => None,
    };
    let shortest = stuck.iter().filter_map(|&start| {
        let mut path = vec![start];
        while let Some(who) = next(path.last()?) {
            if let Some(at) = path.iter().position(|&seen| seen == who) {
                return Some(path.split_off(at));
            }
            path.push(who);
        }
        None
    });
    shortest.min_by_key(Vec::len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(whom: &[u32]) -> Rank {
        Rank::Waits(whom.iter().copied().collect())
    }

    fn of(ranks: &[Rank]) -> (Vec<u32>, Vec<u32>) {
        let ranks: BTreeMap<u32, Rank> = (0..).zip(ranks.iter().cloned()).collect();
        let found = stuck(&ranks);
        (found.iter().copied().collect(), circle(&ranks, &found))
    }

    #[test]
    fn ranks_that_wait_for_each_other_are_stuck_and_those_that_wait_for_a_free_one_are_not() {
        assert_eq!(of(&[waits(&[1]), waits(&[2]), waits(&[0])]), (vec![0, 1, 2], vec![0, 1, 2]));
        assert_eq!(of(&[waits(&[1]), waits(&[2]), Rank::Free]), (vec![], vec![]));
        let tail = [waits(&[1]), waits(&[0]), waits(&[0]), Rank::Free, waits(&[3])];
        assert_eq!(of(&tail), (vec![0, 1, 2], vec![0, 1]));
    }

    #[test]
    fn one_that_goes_on_is_enough() {
        assert_eq!(of(&[waits(&[1, 2]), waits(&[0]), Rank::Free]).0, Vec::<u32>::new());
        assert_eq!(of(&[Rank::WaitsForAny, waits(&[0]), Rank::Free]).0, Vec::<u32>::new());
        assert_eq!(of(&[Rank::WaitsForAny, waits(&[0]), Rank::WaitsForAny]).0, [0, 1, 2]);
        assert_eq!(of(&[waits(&[7]), waits(&[0])]).0, Vec::<u32>::new(), "nothing is known of rank 7");
    }

    #[test]
    fn what_has_ended_ends_nothing() {
        assert_eq!(of(&[waits(&[2]), waits(&[0]), Rank::Ended]), (vec![0, 1], vec![]));
        assert_eq!(of(&[Rank::Ended, Rank::Ended]).0, Vec::<u32>::new(), "that is no hang");
    }
}
