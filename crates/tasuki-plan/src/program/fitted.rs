//! Cablings made for a program: cables where it sends most.

use crate::planes::{Plane, describe, planes};
use crate::{Inventory, Proposal};
use tasuki_cluster::generate::ClusterBuilder;

const WHY: &str = "cables where this program sends most; other programs may want others";
const WHY_BESIDE: &str = "cables where this program sends most, the switch for all others";

/// The cablings for traffic of `pairs[from * hosts + to]` bytes: hosts cabled to each other, and beside one
/// switch if there is one with a port for every host. None if the ports do not suffice.
pub(super) fn fitted(inventory: &Inventory, pairs: &[u64]) -> Vec<Proposal> {
    let &Inventory { hosts, nics, .. } = inventory;
    let mut found = Vec::new();
    if let Some(cables) = greedy(hosts, nics, pairs, true) {
        found.push(proposal(inventory, "made for the program".into(), WHY, &cables, None));
    }
    if let Some(first) = planes(hosts, nics, &inventory.switches).first()
        && nics > 1
    {
        let one = Plane { nics: 1, ..first.clone() };
        if let Some(cables) = greedy(hosts, nics - 1, pairs, false) {
            let what = format!("{} and cables made for the program", describe(std::slice::from_ref(&one)));
            found.push(proposal(inventory, what, WHY_BESIDE, &cables, Some(&one)));
        }
    }
    found
}

fn proposal(
    inventory: &Inventory,
    what: String,
    why: &'static str,
    cables: &[(usize, usize)],
    plane: Option<&Plane>,
) -> Proposal {
    let name = format!("plan{}-fitted", inventory.hosts);
    let mut builder = ClusterBuilder::new(name, inventory.hosts, &inventory.options());
    cables.iter().for_each(|&(a, b)| builder.connect(a, b));
    if let Some(plane) = plane {
        plane.plug_into(&mut builder);
    }
    Proposal { what, why, cluster: builder.finish(), moves: None }
}

/// Ports that are left, and which hosts are joined.
struct Ports {
    free: Vec<usize>,
    /// The group of hosts that are joined, by host.
    group: Vec<usize>,
}

impl Ports {
    /// Whether the groups can still be joined to one: every group has a port, and there are two for each
    /// cable of a tree of groups.
    fn can_join(&self) -> bool {
        let hosts = self.free.len();
        let mut left = vec![0; hosts];
        let mut there = vec![false; hosts];
        for (host, &group) in self.group.iter().enumerate() {
            left[group] += self.free[host];
            there[group] = true;
        }
        let groups = there.iter().filter(|&&there| there).count();
        let each = there.iter().zip(&left).all(|(&there, &left)| !there || left > 0);
        groups == 1 || (each && left.iter().sum::<usize>() >= 2 * (groups - 1))
    }

    fn cable(&mut self, a: usize, b: usize) {
        self.free[a] -= 1;
        self.free[b] -= 1;
        let (stays, goes) = (self.group[a], self.group[b]);
        self.group.iter_mut().filter(|group| **group == goes).for_each(|group| *group = stays);
    }
}

/// Cables, each where the most bytes fall on one cable so far, as long as all hosts can still be joined. Then
/// those that join what is apart. `joined` says whether cables alone must join all hosts; `None` if they
/// cannot.
fn greedy(hosts: usize, nics: usize, pairs: &[u64], joined: bool) -> Option<Vec<(usize, usize)>> {
    let mut ports = Ports { free: vec![nics; hosts], group: (0..hosts).collect() };
    if joined && !ports.can_join() {
        return None;
    }
    let sent = |a: usize, b: usize| {
        let of = |from: usize, to: usize| pairs.get(from * hosts + to).copied().unwrap_or(0);
        of(a, b) + of(b, a)
    };
    let mut count = vec![0u64; hosts * hosts];
    let mut cables = Vec::new();
    loop {
        let all = (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b)));
        let fits = |&(a, b): &(usize, usize)| {
            let mut after = Ports { free: ports.free.clone(), group: ports.group.clone() };
            let free = after.free[a] > 0 && after.free[b] > 0;
            free && {
                after.cable(a, b);
                !joined || after.can_join()
            }
        };
        let apart = |&(a, b): &(usize, usize)| joined && ports.group[a] != ports.group[b];
        let wanted = all.filter(|pair| sent(pair.0, pair.1) > 0 || apart(pair)).filter(fits);
        // A pair without cables comes before those that have some already, where they send as much.
        let worth = |&(a, b): &(usize, usize)| {
            (sent(a, b) / (count[a * hosts + b] + 1), std::cmp::Reverse(count[a * hosts + b]))
        };
        let best = wanted.reduce(|best, next| if worth(&next) > worth(&best) { next } else { best });
        let Some((a, b)) = best else { return Some(cables) };
        count[a * hosts + b] += 1;
        ports.cable(a, b);
        cables.push((a, b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One pair that sends everything gets all cables but those that join the other hosts.
    #[test]
    fn a_pair_that_sends_everything_gets_parallel_cables() {
        let mut pairs = vec![0; 16];
        pairs[1] = 1_000_000;
        let cables = greedy(4, 3, &pairs, true).expect("hosts can be joined");
        assert_eq!(cables.iter().filter(|&&pair| pair == (0, 1)).count(), 2, "{cables:?}");
        // Two further cables join hosts 2 and 3.
        assert_eq!(cables.len(), 4, "{cables:?}");
        assert_eq!(greedy(4, 1, &pairs, true), None);
        assert_eq!(greedy(4, 1, &pairs, false), Some(vec![(0, 1)]));
    }

    /// A ring of neighbours that all send as much is cabled as this ring, whatever the order of the hosts.
    #[test]
    fn a_ring_is_found_in_any_order() {
        let order = [0, 3, 1, 5, 2, 4];
        let mut pairs = vec![0; 36];
        for at in 0..6 {
            pairs[order[at] * 6 + order[(at + 1) % 6]] = 1000;
        }
        let cables = greedy(6, 2, &pairs, true).expect("hosts can be joined");
        assert_eq!(cables.len(), 6);
        for at in 0..6 {
            let (a, b) = (order[at], order[(at + 1) % 6]);
            assert!(cables.contains(&(a.min(b), a.max(b))), "{a} {b}: {cables:?}");
        }
    }
}
