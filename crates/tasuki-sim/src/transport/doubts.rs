//! Endpoints that doubt whether a peer lives (because they are told that nobody listens there) and probe it
//! on all paths. That can happen at any time, in any state of the connection, once or again and again.
//! Nothing may be lost by it, and nothing may hang.
//!
//! The choice of doubts has a generator of its own, and happens only in some runs, so that all other seeds
//! remain the runs that they were.

use super::mishap::Mishap;
use super::world::World;
use crate::Rng;

/// The generator of a seed, and how many probes are left.
pub(crate) struct Doubts {
    rng: Rng,
    left: u64,
}

/// Most probes of a run. An engine probes five times a second; an endpoint that went on for ever would keep
/// the network busy with answers, which is no fault.
const QUESTIONS: u64 = 500;

/// Longest time between two probes, ns.
const PAUSE_NS: u64 = 300_000_000;

impl Doubts {
    /// The doubts of a seed; `None` if no endpoint has any in its run.
    pub fn of(seed: u64) -> Option<Doubts> {
        (seed % 5 == 2).then(|| Doubts { rng: Rng::new(seed ^ 0x0064_6f75_6274_7321), left: QUESTIONS })
    }

    /// The endpoint at `place` may begin to doubt whether that at `other` lives.
    pub fn begin(&mut self, world: &mut World, place: usize, other: usize) {
        let Doubts { rng, left } = self;
        if !rng.chance(50) {
            return;
        }
        let (times, pause) = (rng.between(1, 12).min(*left), rng.magnitude(PAUSE_NS));
        *left -= times;
        let mut at = 0;
        for _ in 0..times {
            world.plan(at, Mishap::Doubt { place, other });
            at += rng.below(pause + 1);
        }
    }
}
