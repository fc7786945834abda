//! Which host runs which rank.

use tasuki_control::Spread;

/// Deals ranks over hosts that have so many free slots each. Where there are more ranks than free slots, all
/// slots are filled again and again. Returns the ranks of every host, ascending; empty without any slot.
pub(crate) fn deal(spread: Spread, free: &[u32], ranks: u32) -> Vec<Vec<u32>> {
    let mut dealt = vec![Vec::new(); free.len()];
    let total: u32 = free.iter().sum();
    let mut next = 0;
    while next < ranks && total > 0 {
        let mut left = free.to_vec();
        let mut layer = (ranks - next).min(total);
        while layer > 0 {
            for (host, left) in left.iter_mut().enumerate() {
                let take = match spread {
                    Spread::ByNode => (*left).min(1),
                    Spread::BySlot => *left,
                };
                for _ in 0..take.min(layer) {
                    dealt[host].push(next);
                    next += 1;
                }
                layer -= take.min(layer);
                *left -= take;
            }
        }
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rank_per_host_in_turn_or_a_host_after_the_other() {
        assert_eq!(deal(Spread::ByNode, &[2, 1, 2], 5), [vec![0, 3], vec![1], vec![2, 4]]);
        assert_eq!(deal(Spread::BySlot, &[2, 1, 2], 4), [vec![0, 1], vec![2], vec![3]]);
    }

    #[test]
    fn full_hosts_are_passed_over() {
        assert_eq!(deal(Spread::ByNode, &[0, 1, 3], 3), [vec![], vec![0], vec![1, 2]]);
        assert_eq!(deal(Spread::ByNode, &[0, 0], 3), [vec![0; 0], vec![]]);
    }

    #[test]
    fn more_ranks_than_slots_fill_all_slots_again() {
        assert_eq!(deal(Spread::ByNode, &[1, 2], 7), [vec![0, 3, 6], vec![1, 2, 4, 5]]);
        assert_eq!(deal(Spread::BySlot, &[1, 2], 6), [vec![0, 3], vec![1, 2, 4, 5]]);
    }
}
