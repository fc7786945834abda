//! What hosts tell their endpoints of the carriers of their NICs: rightly and late when a cable is cut, wrongly when none is, sometimes for ever,
//! and changing all the time. Nothing may be lost by it, and nothing may hang.
//!
//! It has dice of its own, and not in every run, so that the other seeds stay the runs that they were.

use tasuki_proto::ConnId;

use super::rails_faults::Mishap;
use super::scenario::Scenario;
use super::world::World;
use crate::Rng;
use tasuki_testkit::Check;

/// The dice of a seed, if its hosts say anything of carriers.
pub(crate) fn dice(seed: u64) -> Option<Rng> {
    (seed % 3 == 1).then(|| Rng::new(seed ^ 0x6361_7272_6965_7273))
}

/// Longest that a host takes to notice, ns: the kernel tells of several changes in a second once.
const NOTICE_NS: u64 = 1_000_000_000;

impl Scenario {
    /// A cable is cut at this end for so long, and its host may notice: both, one of the two, none.
    pub(super) fn word_of_cut(&mut self, place: usize, other: usize, rail: u8, lasting: u64) {
        let Some(rng) = &mut self.word else { return };
        let mut late = |from: u64| {
            let notice = if rng.chance(40) { 0 } else { rng.magnitude(NOTICE_NS) };
            rng.chance(85).then(|| from.saturating_add(notice))
        };
        let words = [(late(0), false), (late(lasting), true)];
        for (at, up) in words {
            if let Some(at) = at {
                self.world.plan(at, Mishap::Word { place, other, rail, up });
            }
        }
    }

    /// A host says something of a cable that is well, perhaps: once, or again and again.
    pub(super) fn word_of_nothing(&mut self, place: usize, other: usize, rails: &[u8]) {
        let Some(rng) = &mut self.word else { return };
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
                self.world.plan(at, Mishap::Word { place, other, rail, up: time % 2 == 1 });
                at += rng.below(pause + 1);
            }
        }
    }
}

impl World {
    /// A host tells its endpoint of its NIC, rightly or not.
    pub(super) fn hear_word(&mut self, place: usize, other: usize, rail: u8, up: bool) -> Check {
        self.oracle.cover(if up { "carrier said to be back" } else { "carrier said to be lost" });
        self.network.set_silent(place, other, rail, !up);
        let Some(&node) = self.tenants.get(&place) else { return Ok(()) };
        if !self.oracle.nodes[node].alive {
            return Ok(());
        }
        let now = tasuki_proto::Time(self.now().0);
        let conns = self.hosts[node].conns.of_conn.clone();
        for (conn, there) in conns {
            if self.hosts[there].place == other {
                self.hosts[node].proto.set_carrier(now, conn, rail, up);
            }
        }
        self.service(node)
    }

    /// A new connection hears what the host has said before.
    pub(super) fn tell_words(&mut self, node: usize, conn: ConnId) {
        let now = tasuki_proto::Time(self.now().0);
        let host = &mut self.hosts[node];
        let Some(&there) = host.conns.of_conn.get(&conn) else { return };
        let (place, other) = (host.place, self.hosts[there].place);
        for rail in self.network.silent(place, other) {
            self.hosts[node].proto.set_carrier(now, conn, rail, false);
        }
    }

    /// All is healed, and some hosts still say that there is no carrier.
    pub(super) fn count_wrong_words(&mut self) {
        let wrong = self.network.silents();
        self.oracle.coverage.add("carrier wrongly missed to the end", wrong as u64);
    }
}
