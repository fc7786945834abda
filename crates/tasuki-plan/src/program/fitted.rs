//! Cablings made for a program: cables where it sends most.

use crate::grow::laid_over;
use crate::planes::{Plane, describe, planes};
use crate::{Inventory, OwnSwitch, Proposal};
use tasuki_cluster::{Cluster, generate::ClusterBuilder};

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

/// The cablings of [`fitted`] for an old cluster that grows. Its hosts keep their names and numbers, and the
/// switches that it has are there besides the added ones of the inventory.
pub(super) fn fitted_over(old: &Cluster, inventory: &Inventory, pairs: &[u64]) -> Vec<Proposal> {
    let there = old.switches.iter().map(|switch| OwnSwitch { ports: switch.ports, rate: Some(switch.rate) });
    let switches = there.chain(inventory.switches.iter().copied()).collect();
    let fresh = fitted(&Inventory { switches, ..inventory.clone() }, pairs);
    laid_over(old, &fresh, inventory)
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
    /// Ports that the hosts of a group have left, by its number.
    left: Vec<usize>,
    /// Number of groups.
    groups: usize,
    /// Number of groups without a port that is left.
    full: usize,
    /// Ports that all hosts have left.
    all: usize,
}

impl Ports {
    /// Hosts that are not joined, with so many ports each.
    fn new(hosts: usize, nics: usize) -> Self {
        Self {
            free: vec![nics; hosts],
            group: (0..hosts).collect(),
            left: vec![nics; hosts],
            groups: hosts,
            full: if nics == 0 { hosts } else { 0 },
            all: hosts * nics,
        }
    }

    /// Whether so many groups, of which so many are full, can be joined to one by so many ports: every group
    /// needs one, and each cable of a tree of groups two.
    fn can_be_one(groups: usize, full: usize, ports: usize) -> bool {
        groups <= 1 || (full == 0 && ports >= 2 * (groups - 1))
    }

    /// Whether the groups can be joined to one.
    fn can_join(&self) -> bool {
        Self::can_be_one(self.groups, self.full, self.all)
    }

    /// Ports that are left in the group of two hosts after a cable between them. Both must have one.
    fn left_after(&self, a: usize, b: usize) -> usize {
        let (first, second) = (self.group[a], self.group[b]);
        let of_second = if first == second { 0 } else { self.left[second] };
        self.left[first] + of_second - 2
    }

    /// Whether the groups can still be joined to one after a cable between two hosts, which must have a port.
    fn can_join_after(&self, a: usize, b: usize) -> bool {
        let groups = self.groups - usize::from(self.group[a] != self.group[b]);
        let full = self.full + usize::from(self.left_after(a, b) == 0);
        Self::can_be_one(groups, full, self.all - 2)
    }

    fn cable(&mut self, a: usize, b: usize) {
        let left = self.left_after(a, b);
        self.free[a] -= 1;
        self.free[b] -= 1;
        self.all -= 2;
        self.full += usize::from(left == 0);
        let (stays, goes) = (self.group[a], self.group[b]);
        self.left[stays] = left;
        if stays != goes {
            self.groups -= 1;
            self.group.iter_mut().filter(|group| **group == goes).for_each(|group| *group = stays);
        }
    }
}

/// Cables, each where the most bytes fall on one cable so far, as long as all hosts can still be joined. Then
/// those that join what is apart. `joined` says whether cables alone must join all hosts; `None` if they
/// cannot.
fn greedy(hosts: usize, nics: usize, pairs: &[u64], joined: bool) -> Option<Vec<(usize, usize)>> {
    let mut ports = Ports::new(hosts, nics);
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
            ports.free[a] > 0 && ports.free[b] > 0 && (!joined || ports.can_join_after(a, b))
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
    use tasuki_cluster::{
        End,
        generate::{Options, generate},
    };
    use tasuki_topo::SplitMix64;

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

    /// Whether groups with so many ports can be joined to one: some two of them by a cable, and so on.
    fn joins(left: &[usize]) -> bool {
        let pairs = (0..left.len()).flat_map(|a| (a + 1..left.len()).map(move |b| (a, b)));
        let mut cables = pairs.filter(|&(a, b)| left[a] > 0 && left[b] > 0);
        let join = |(a, b): (usize, usize)| {
            let mut after = left.to_vec();
            after[a] = after[a] + after[b] - 2;
            after.remove(b);
            joins(&after)
        };
        left.len() == 1 || cables.any(join)
    }

    /// What is counted while cables are added is what trying all cables finds.
    #[test]
    fn hosts_can_be_joined_exactly_where_some_cables_join_them() {
        let mut random = SplitMix64::new(1);
        for _ in 0..300 {
            let hosts = 2 + random.below(4);
            let mut ports = Ports::new(hosts, 1 + random.below(3));
            loop {
                let all = (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b)));
                let free: Vec<_> = all.filter(|&(a, b)| ports.free[a] > 0 && ports.free[b] > 0).collect();
                let Some(&(a, b)) = free.get(random.below(free.len())) else { break };
                let expected = ports.can_join_after(a, b);
                ports.cable(a, b);
                let mut left: Vec<Option<usize>> = vec![None; hosts];
                for (&free, &group) in ports.free.iter().zip(&ports.group) {
                    *left[group].get_or_insert(0) += free;
                }
                let left: Vec<usize> = left.into_iter().flatten().collect();
                assert_eq!((ports.can_join(), expected), (joins(&left), joins(&left)), "{left:?}");
            }
        }
    }

    /// Hosts that are there keep their names, and the cables that the program wants stay in their place. The
    /// pair of ranks that sends everything is on the first and the last host.
    #[test]
    fn a_cluster_that_grows_for_a_program_keeps_its_hosts() {
        let mut old = generate(&"ring:4".parse().unwrap(), &Options::default()).unwrap();
        old.hosts.iter_mut().for_each(|host| host.name.insert(0, 'p'));
        let mut pairs = vec![0; 25];
        pairs[4] = 1_000_000;
        let found = fitted_over(&old, &Inventory::new(5, 3), &pairs);
        assert_eq!(found.len(), 1);
        let Proposal { cluster, moves, .. } = &found[0];
        let names: Vec<&str> = cluster.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["pn1", "pn2", "pn3", "pn4", "n5"]);
        let moves = moves.as_ref().expect("what happens to the old cables");
        assert_eq!(moves.kept + moves.moved, old.cables.len());
        let host = |end: End| if let End::Nic(nic) = end { nic.host.0 } else { usize::MAX };
        let between = cluster.cables.iter().map(|cable| cable.ends.map(host));
        assert!(between.filter(|ends| *ends == [0, 4] || *ends == [4, 0]).count() >= 2);
    }
}
