//! How far hosts are from each other.

use crate::within::within;

/// Distances of all ordered pairs of hosts in cables, and the pairs that have no way. `near` has the neighbours of all parts, hosts
/// first; `relays` says which hosts forward, as switches do.
pub(super) fn ways(near: &[Vec<u32>], relays: &[bool]) -> (u64, u64) {
    let all = (relays.len() * relays.len()) as u64;
    let reached = within(near, relays.len(), |part| relays.get(part).is_none_or(|&relays| relays));
    // Every pair not yet reached is at least one cable farther apart.
    let left = |pairs: &u64| all - pairs;
    (reached.iter().map(left).sum(), reached.last().map_or(0, left))
}
