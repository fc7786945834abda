//! Which rank runs on which host.

/// The order in which hosts are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Hosts get one rank each in turn, so that as many hosts take part as there are ranks.
    #[default]
    ByNode,
    /// A host's slots are filled before the next host gets a rank.
    BySlot,
}

/// The host of every rank, as an index in `slots` (the number of slots of each host). If there are more ranks
/// than slots, hosts get further ranks in the same order, in proportion to their slots. Empty if there is no
/// slot.
pub fn hosts_of_ranks(placement: Placement, slots: &[u32], ranks: u32) -> Vec<usize> {
    let round: u64 = slots.iter().map(|slots| u64::from(*slots)).sum();
    if round == 0 {
        return Vec::new();
    }
    // Slots of each host if every host has as many rounds as the last rank needs.
    let rounds = u64::from(ranks).div_ceil(round);
    let limits: Vec<u64> = slots.iter().map(|slots| u64::from(*slots) * rounds).collect();
    match placement {
        Placement::BySlot => by_slot(&limits, ranks),
        Placement::ByNode => by_node(&limits, ranks),
    }
}

fn by_slot(limits: &[u64], ranks: u32) -> Vec<usize> {
    let hosts = limits.iter().enumerate().flat_map(|(host, limit)| (0..*limit).map(move |_| host));
    hosts.take(ranks as usize).collect()
}

fn by_node(limits: &[u64], ranks: u32) -> Vec<usize> {
    let deepest = limits.iter().copied().max().unwrap_or(0);
    let layers = (0..deepest).flat_map(|layer| {
        limits.iter().enumerate().filter(move |(_, limit)| layer < **limit).map(|(host, _)| host)
    });
    layers.take(ranks as usize).collect()
}

/// How many ranks each of `hosts` hosts has.
pub fn counts(hosts_of_ranks: &[usize], hosts: usize) -> Vec<u32> {
    let mut counts = vec![0; hosts];
    for host in hosts_of_ranks {
        counts[*host] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expectations are Open MPI's for `--map-by node` and `--map-by slot` with `--host n1:2,n2:4,n3:2`
    // (mpirun(1), "Mapping Processes to Nodes"), where the ranks do not outnumber the slots.
    #[test]
    fn as_mpirun_describes_it() {
        let slots = [2, 4, 2];
        assert_eq!(hosts_of_ranks(Placement::ByNode, &slots, 8), [0, 1, 2, 0, 1, 2, 1, 1]);
        assert_eq!(hosts_of_ranks(Placement::BySlot, &slots, 7), [0, 0, 1, 1, 1, 1, 2]);
    }

    #[test]
    fn four_ranks_use_four_hosts() {
        assert_eq!(hosts_of_ranks(Placement::ByNode, &[8, 8, 8, 8], 4), [0, 1, 2, 3]);
    }

    #[test]
    fn more_ranks_than_slots_go_in_proportion() {
        let all = hosts_of_ranks(Placement::ByNode, &[1, 3], 8);
        assert_eq!(counts(&all, 2), [2, 6]);
        let all = hosts_of_ranks(Placement::BySlot, &[1, 3], 8);
        assert_eq!(all, [0, 0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(hosts_of_ranks(Placement::ByNode, &[1, 1, 1, 1], 6), [0, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn hosts_without_slots_get_no_ranks() {
        assert_eq!(hosts_of_ranks(Placement::ByNode, &[0, 1], 3), [1, 1, 1]);
        assert_eq!(hosts_of_ranks(Placement::ByNode, &[0, 0], 3), [0; 0]);
        assert_eq!(hosts_of_ranks(Placement::BySlot, &[], 3), [0; 0]);
    }
}
