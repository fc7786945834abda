//! Which process keeps a copy of which image.

/// For each process, by rank, the process that keeps a copy of its image: one on the next host, in the order
/// in which hosts first appear, so that no host is lost with both. `None` if there is no other host.
pub fn keepers(hosts: &[String]) -> Vec<Option<usize>> {
    let mut groups: Vec<(&String, Vec<usize>)> = Vec::new();
    for (rank, host) in hosts.iter().enumerate() {
        match groups.iter_mut().find(|(name, _)| *name == host) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((host, vec![rank])),
        }
    }
    let mut keepers = vec![None; hosts.len()];
    if groups.len() < 2 {
        return keepers;
    }
    for (at, (_, ranks)) in groups.iter().enumerate() {
        let next = &groups[(at + 1) % groups.len()].1;
        for (index, &rank) in ranks.iter().enumerate() {
            keepers[rank] = Some(next[index % next.len()]);
        }
    }
    keepers
}

/// The round in which each process sends its copy. In one round a process receives from one other at most.
pub fn rounds(keepers: &[Option<usize>]) -> Vec<usize> {
    let before = |rank: usize| keepers[..rank].iter().filter(|keeper| **keeper == keepers[rank]).count();
    (0..keepers.len()).map(before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hosts: &[&str]) -> Vec<Option<usize>> {
        keepers(&hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn copies_lie_on_another_host_and_are_spread() {
        assert_eq!(of(&["a", "b", "c"]), [Some(1), Some(2), Some(0)]);
        assert_eq!(of(&["a", "a", "b", "b"]), [Some(2), Some(3), Some(0), Some(1)]);
        assert_eq!(of(&["a", "b", "a", "b"]), [Some(1), Some(0), Some(3), Some(2)]);
        assert_eq!(of(&["a", "a"]), [None, None]);
        assert_eq!(of(&[]), []);
        // Three processes on one host, one on the other, which keeps the copies of all three.
        let uneven = of(&["a", "a", "a", "b"]);
        assert_eq!(uneven, [Some(3), Some(3), Some(3), Some(0)]);
        assert_eq!(rounds(&uneven), [0, 1, 2, 0]);
    }
}
