//! How far hosts are from each other, by sets of bits: after round `k` the set of a part has all hosts within `k` cables.

/// Distances of all ordered pairs of hosts in cables, and the pairs that have no way. `near` has the neighbours of all parts, hosts
/// first; `relays` says which hosts forward, as switches do.
pub(super) fn ways(near: &[Vec<u32>], relays: &[bool]) -> (u64, u64) {
    let hosts = relays.len();
    let words = hosts.div_ceil(64);
    let mut now = vec![0u64; near.len() * words];
    for host in 0..hosts {
        now[host * words + host / 64] |= 1 << (host % 64);
    }
    let own = now.clone();
    let mut next = now.clone();
    let all = (hosts * hosts) as u64;
    let (mut sum, mut reached, mut known) = (0, hosts as u64, hosts as u64);
    while reached < all {
        // Every pair not yet reached is at least one cable farther apart.
        sum += all - reached;
        for (part, beside) in near.iter().enumerate() {
            let to = &mut next[part * words..(part + 1) * words];
            for &other in beside {
                let other = other as usize;
                let forwards = relays.get(other).is_none_or(|&relays| relays);
                let from = if forwards { &now } else { &own };
                for (to, word) in to.iter_mut().zip(&from[other * words..(other + 1) * words]) {
                    *to |= word;
                }
            }
        }
        let count = |sets: &[u64]| sets.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        let (of_hosts, of_switches) = next.split_at(hosts * words);
        reached = count(of_hosts);
        // A round may reach switches only.
        let known_now = reached + count(of_switches);
        if known_now == std::mem::replace(&mut known, known_now) {
            break;
        }
        now.copy_from_slice(&next);
    }
    (sum, all - reached)
}
