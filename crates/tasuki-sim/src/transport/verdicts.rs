//! Endpoints that give up a peer although it lives, as one does whose peer was stopped for too long. The peer
//! must learn of it, whatever the rails do: else its program waits for ever.
//!
//! The choice of verdicts has a generator of its own, and happens only in some runs, so that all other seeds
//! remain the runs that they were.

use super::event::Event;
use super::rest::transfer_ns;
use super::world::World;
use crate::Rng;
use tasuki_msg::Gone;
use tasuki_testkit::{Check, demand};
use tasuki_wire::MAX_RAILS;

/// The generator of a seed, and how many verdicts are left.
pub(crate) struct Verdicts {
    rng: Rng,
    left: u64,
}

/// Most verdicts of a run: those who have given each other up never speak again, and enough must be left
/// that others can go wrong.
const VERDICTS: u64 = 2;

/// Virtual time in which a peer that was given up must learn of it on a network that works, besides the time
/// that the lines need for what is on its way, ns: longer than it is told unasked.
const TOLD_NS: u64 = 120_000_000_000;

impl Verdicts {
    /// The verdicts of a seed; `None` if only the dead are given up in its run.
    pub fn of(seed: u64) -> Option<Verdicts> {
        (seed % 7 == 4).then(|| Verdicts { rng: Rng::new(seed ^ 0x7665_7264_6963_7473), left: VERDICTS })
    }

    /// The node may give up another one, soon.
    pub fn begin(&mut self, world: &mut World, node: usize, other: usize) {
        let Verdicts { rng, left } = self;
        let many = world.oracle.living().len() > 2;
        if node == other || !many || *left == 0 || !rng.chance(30) {
            return;
        }
        *left -= 1;
        world.oracle.cover("a living peer given up");
        let wait = rng.magnitude(50_000_000);
        world.schedule_after(wait, Event::Tell { node, dead: other });
    }

    /// Lets time pass until all that were given up and live know it.
    pub fn all_are_known(world: &mut World) -> Check {
        for node in world.oracle.living() {
            world.service(node)?;
        }
        let until = world.now().after(TOLD_NS + transfer_ns(world));
        while let Some((node, by)) = unaware(world) {
            let stall = world.now() > until || world.kernel.pending() == 0;
            demand(!stall, || {
                format!("a stall: node {node} never learns that {by} has given it up: {}", world.dump())
            })?;
            world.advance()?;
        }
        Ok(())
    }
}

/// A living node that takes another one for its peer, which has given it up and lives. Where neither has said
/// anything to the other, nobody knows of the other's connection.
fn unaware(world: &World) -> Option<(usize, usize)> {
    let pairs = world.oracle.living().into_iter().flat_map(|by| {
        let judge = &world.oracle.nodes[by];
        let failed = judge.gone.iter().filter(|(_, gone)| **gone == Gone::Failed);
        failed.filter_map(move |(peer, _)| judge.node_for(*peer)).map(move |node| (node, by))
    });
    pairs.into_iter().find(|(node, by)| {
        let there = &world.oracle.nodes[*node];
        let host = &world.hosts[*node];
        let conn = host.conns.of_node.get(by).copied();
        let heard = |conn| (0..MAX_RAILS as u8).any(|rail| host.proto.remote_rail(conn, rail).is_some());
        let has_spoken = |conn| heard(conn) || host.proto.has_unacknowledged(conn);
        let waits = there.peer_for(*by).is_some_and(|peer| there.lives(peer));
        there.alive && waits && conn.is_some_and(has_spoken)
    })
}
