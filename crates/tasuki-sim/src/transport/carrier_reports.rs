//! What hosts report to their endpoints about the carriers of their NICs: rightly and late when a cable is
//! cut, wrongly when none is, sometimes for ever, and changing all the time. Nothing may be lost by it, and
//! nothing may hang.
//!
//! The choice of reports has a generator of its own, and happens only in some runs, so that all other seeds
//! remain the runs that they were.

use super::mishap::Mishap;
use super::world::World;
use crate::Rng;

/// Longest time after which a host notices a change, ns: the kernel reports several changes within a second
/// only once.
const NOTICE_NS: u64 = 1_000_000_000;

/// What hosts report of carriers in a run.
pub(crate) struct Reports(Rng);

impl Reports {
    /// The reports of a seed; `None` if hosts report no carriers in its run.
    pub fn of(seed: u64) -> Option<Reports> {
        (seed % 3 == 1).then(|| Reports(Rng::new(seed ^ 0x6361_7272_6965_7273)))
    }

    /// A cable is cut at this end for some time: its host may report the cut, the mending, both, or neither.
    pub fn cut(&mut self, world: &mut World, (place, other): (usize, usize), rail: u8, lasting: u64) {
        let Reports(rng) = self;
        let mut late = |from: u64| {
            let notice = if rng.chance(40) { 0 } else { rng.magnitude(NOTICE_NS) };
            rng.chance(85).then(|| from.saturating_add(notice))
        };
        let reports = [(late(0), false), (late(lasting), true)];
        for (at, up) in reports {
            if let Some(at) = at {
                world.plan(at, Mishap::Report { place, other, rail, up });
            }
        }
    }

    /// A host may report wrongly about a cable that works: once, or again and again.
    pub fn falsely(&mut self, world: &mut World, (place, other): (usize, usize), rails: &[u8]) {
        let Reports(rng) = self;
        if rails.is_empty() || !rng.chance(40) {
            return;
        }
        let all = rng.chance(30);
        let one = rng.pick(rails);
        let times = if rng.chance(30) { rng.between(2, 40) } else { 1 };
        let pause = rng.magnitude(100_000_000);
        for rail in rails.iter().copied().filter(|rail| all || *rail == one) {
            let mut at = 0;
            for time in 0..times {
                world.plan(at, Mishap::Report { place, other, rail, up: time % 2 == 1 });
                at += rng.below(pause + 1);
            }
        }
    }
}
