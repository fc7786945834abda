//! What hosts report to their endpoints about the carriers of their NICs: rightly and late when a cable is
//! cut, wrongly when none is, sometimes for ever, and changing all the time. Nothing may be lost by it, and
//! nothing may hang.
//!
//! The choice of reports has a generator of its own, and happens only in some runs, so that all other seeds
//! remain the runs that they were.

use tasuki_proto::ConnId;

use super::rails_faults::Mishap;
use super::scenario::Scenario;
use super::world::World;
use crate::Rng;
use tasuki_testkit::Check;

/// The generator of a seed; `None` if hosts report no carriers in its run.
pub(crate) fn dice(seed: u64) -> Option<Rng> {
    (seed % 3 == 1).then(|| Rng::new(seed ^ 0x6361_7272_6965_7273))
}

/// Longest time after which a host notices a change, ns: the kernel reports several changes within a second
/// only once.
const NOTICE_NS: u64 = 1_000_000_000;

impl Scenario {
    /// A cable is cut at this end for some time: its host may report the cut, the mending, both, or neither.
    pub(super) fn report_cut(&mut self, place: usize, other: usize, rail: u8, lasting: u64) {
        let Some(rng) = &mut self.reports else { return };
        let mut late = |from: u64| {
            let notice = if rng.chance(40) { 0 } else { rng.magnitude(NOTICE_NS) };
            rng.chance(85).then(|| from.saturating_add(notice))
        };
        let reports = [(late(0), false), (late(lasting), true)];
        for (at, up) in reports {
            if let Some(at) = at {
                self.world.plan(at, Mishap::Report { place, other, rail, up });
            }
        }
    }

    /// A host may report wrongly about a cable that works: once, or again and again.
    pub(super) fn report_falsely(&mut self, place: usize, other: usize, rails: &[u8]) {
        let Some(rng) = &mut self.reports else { return };
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
                self.world.plan(at, Mishap::Report { place, other, rail, up: time % 2 == 1 });
                at += rng.below(pause + 1);
            }
        }
    }
}

impl World {
    /// A host reports to its endpoint, rightly or wrongly, about its NIC.
    pub(super) fn carrier_reported(&mut self, place: usize, other: usize, rail: u8, up: bool) -> Check {
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

    /// Tells a new connection what the host has reported before.
    pub(super) fn repeat_reports(&mut self, node: usize, conn: ConnId) {
        let now = tasuki_proto::Time(self.now().0);
        let host = &mut self.hosts[node];
        let Some(&there) = host.conns.of_conn.get(&conn) else { return };
        let (place, other) = (host.place, self.hosts[there].place);
        for rail in self.network.silent(place, other) {
            self.hosts[node].proto.set_carrier(now, conn, rail, false);
        }
    }

    /// Counts the hosts that still report no carrier although all is healed.
    pub(super) fn count_wrong_reports(&mut self) {
        let wrong = self.network.silents();
        self.oracle.coverage.add("carrier wrongly missed to the end", wrong as u64);
    }
}
