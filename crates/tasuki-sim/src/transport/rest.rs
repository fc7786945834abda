//! When a run has come to rest, and how long that may take.

use super::world::World;
use tasuki_msg::{Gone, PeerId};
use tasuki_testkit::oracle::Link;

/// Virtual time in which everything comes to rest on a network that works, besides the time that the lines
/// need for the bytes.
pub(super) const REST_NS: u64 = 60_000_000_000;

/// Whether nothing is under way that any node waits for.
pub(super) fn at_rest(world: &World) -> bool {
    let quiet = |node: usize| {
        let (here, host) = (&world.oracle.nodes[node], &world.hosts[node]);
        let active = here.peers.iter().any(|known| known.active && here.lives(known.peer));
        let drained = host.conns.of_node.iter().all(|(there, conn)| {
            let other = &world.oracle.nodes[*there];
            // A node that is dead, or has given this one up, does not answer any more.
            let listens = other.alive && other.peer_for(node).is_none_or(|back| other.lives(back));
            !listens || host.proto.is_drained(*conn)
        });
        let runs = host.stopped_until <= world.now();
        runs && host.socket.is_empty() && !active && drained
    };
    let heard = |(&(from, to), link): (&(usize, usize), &Link)| {
        let (here, there) = (&world.oracle.nodes[from], &world.oracle.nodes[to]);
        let listens = |peer: Option<PeerId>| peer.is_none_or(|peer| there.lives(peer));
        let failed = |peer| here.gone.get(&peer) == Some(&Gone::Failed);
        // A node that has given the other one up sends nothing more; the last frames of a node that has
        // parted are still under way.
        let speaks = here.peer_for(to).is_some_and(|peer| !failed(peer));
        let both = here.alive && there.alive && speaks && listens(there.peer_for(from));
        !both || !link.under_way()
    };
    world.direct_out == 0
        && world.oracle.living().into_iter().all(quiet)
        && world.oracle.links.iter().all(heard)
}

/// Time that the slowest line needs for all bytes, many times over because of losses, ns.
pub(super) fn transfer_ns(world: &mut World) -> u64 {
    let bytes: u64 = world.oracle.sent.iter().map(|sent| sent.len + 2000).sum();
    let slowest = world.network.channels_mut().map(|(_, channel)| channel.line().rate_bps).min();
    bytes.saturating_mul(80_000_000_000) / slowest.unwrap_or(1_000_000_000).max(1)
}
