//! Distances between hosts.

use crate::within::within;

/// The sum of the distances of all ordered pairs of hosts, in cables, and the number of ordered pairs without
/// a route. `near` has the neighbours of all parts, hosts first; `relays` says which hosts forward, as
/// switches do.
pub(super) fn sum_and_apart(near: &[Vec<u32>], relays: &[bool]) -> (u64, u64) {
    let all = (relays.len() * relays.len()) as u64;
    let reached = within(near, relays.len(), |part| relays.get(part).is_none_or(|&relays| relays));
    // Every round adds 1 for each pair that is farther apart than the rounds before: in all, its distance.
    let left = |pairs: &u64| all - pairs;
    (reached.iter().map(left).sum(), reached.last().map_or(0, left))
}
