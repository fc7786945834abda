//! Which hosts are near each other: groups in which each two have a rail between them.

use std::collections::HashSet;
use tasuki_cluster::Cluster;

/// Divides the hosts, by their places in the file, into groups of which each two members have a rail between
/// them that no host relays. The first host that is in no group begins one, and takes those after it that
/// have such rails to all members. (The fewest such groups are hard to find; on the shapes that people cable
/// this finds them or nearly.)
pub(crate) fn groups(cluster: &Cluster) -> Vec<Vec<usize>> {
    let direct = cluster.all_rails().into_iter();
    let direct = direct.filter(|(_, rails)| rails.iter().any(|rail| rail.relays.is_empty()));
    let pairs: HashSet<(usize, usize)> = direct.map(|((a, b), _)| (a.0, b.0)).collect();
    // A pair's first host is the earlier one in the file, and members of a group come before who joins it.
    let near = |earlier: usize, later: usize| pairs.contains(&(earlier, later));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for host in 0..cluster.hosts.len() {
        match groups.iter_mut().find(|group| group.iter().all(|member| near(*member, host))) {
            Some(group) => group.push(host),
            None => groups.push(vec![host]),
        }
    }
    groups
}
