//! Mishaps of rails and processes: cables that are cut and mended, whether hosts notice it or not, holes in
//! the MTU, processes that are stopped for a while.

use super::world::{Event, World};
use crate::kernel::Time;
use tasuki_testkit::Check;

/// A mishap.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mishap {
    /// One direction of a rail stops or starts to carry packets.
    Cable { from: usize, to: usize, rail: u8, up: bool },
    /// A host takes its end of a rail out of use, or puts it back.
    Carrier { place: usize, other: usize, rail: u8, up: bool },
    /// A host reports that its end of a rail has lost its carrier, or has it back, rightly or wrongly.
    Report { place: usize, other: usize, rail: u8, up: bool },
    /// One direction of a rail carries only packets up to this size, headers included.
    Hole { from: usize, to: usize, rail: u8, mtu: usize },
    /// A host sets the MTU of its end of a rail.
    Mtu { place: usize, other: usize, rail: u8, mtu: u16 },
    /// One direction of a rail stops or starts to lose raw frames, while datagrams pass, as when a bridge
    /// takes the NIC.
    Deaf { from: usize, to: usize, rail: u8, deaf: bool },
    /// An endpoint doubts whether its peer lives, and probes it.
    Doubt { place: usize, other: usize },
    /// A process is stopped for some time.
    Stop { node: usize, ns: u64 },
}

impl Mishap {
    /// Whether it does harm, and is not the end of another mishap.
    fn is_bad(self) -> bool {
        match self {
            Mishap::Cable { up, .. } | Mishap::Carrier { up, .. } => !up,
            Mishap::Hole { mtu, .. } => mtu < 9000,
            Mishap::Deaf { deaf, .. } => deaf,
            Mishap::Mtu { .. } | Mishap::Stop { .. } => true,
            // Reports and probes do no harm.
            Mishap::Report { .. } | Mishap::Doubt { .. } => false,
        }
    }
}

impl World {
    pub(super) fn mishap(&mut self, mishap: Mishap) -> Check {
        if self.calm && mishap.is_bad() {
            return Ok(());
        }
        self.oracle.note(|| format!("{mishap:?}"));
        match mishap {
            Mishap::Cable { from, to, rail, up } => {
                self.oracle.cover(if up { "cable mended" } else { "cable cut" });
                if let Some(channel) = self.network.channel_mut(from, to, rail) {
                    channel.set_up(up);
                }
                Ok(())
            }
            Mishap::Hole { from, to, rail, mtu } => {
                self.oracle.cover("hole in the MTU");
                if let Some(channel) = self.network.channel_mut(from, to, rail) {
                    channel.line_mut().mtu = mtu;
                }
                Ok(())
            }
            Mishap::Deaf { from, to, rail, deaf } => {
                self.oracle.cover(if deaf {
                    "rail deaf to raw frames"
                } else {
                    "rail hears raw frames again"
                });
                self.network.set_deaf(from, to, rail, deaf);
                Ok(())
            }
            Mishap::Carrier { place, other, rail, up } => {
                self.oracle.cover(if up { "carrier back" } else { "carrier lost" });
                if let Some(end) = self.network.end_mut(place, other, rail) {
                    end.up = up;
                }
                self.rails_changed(place, other)
            }
            Mishap::Report { place, other, rail, up } => self.carrier_reported(place, other, rail, up),
            Mishap::Doubt { place, other } => self.ask(place, other),
            Mishap::Mtu { place, other, rail, mtu } => {
                self.oracle.cover("MTU set");
                if let Some(end) = self.network.end_mut(place, other, rail) {
                    end.mtu = mtu;
                }
                self.rails_changed(place, other)
            }
            Mishap::Stop { node, ns } => {
                self.oracle.cover("process stopped");
                let until = self.now().after(ns);
                self.hosts[node].stopped_until = until;
                self.poll_by(node, until);
                Ok(())
            }
        }
    }

    /// The engine at `place` learns of a change of its rails from its host's netlink socket, whether its
    /// program polls or not.
    fn rails_changed(&mut self, place: usize, other: usize) -> Check {
        let Some(&node) = self.tenants.get(&place) else { return Ok(()) };
        if !self.oracle.nodes[node].alive {
            return Ok(());
        }
        let rails = self.network.rails(place, other);
        let now = tasuki_proto::Time(self.now().0);
        // Closed connections, too, must know, as they still have to answer.
        let conns = self.hosts[node].conns.of_conn.clone();
        for (conn, there) in conns {
            if self.hosts[there].place == other {
                self.hosts[node].proto.set_rails(now, conn, &rails);
            }
        }
        self.service(node)
    }

    /// Ends all mishaps: cables are whole, ends have their carrier, and processes run. Random losses of the
    /// lines go on, and rails other than the first may keep their holes.
    pub fn heal(&mut self) -> Check {
        self.oracle.note(|| "all is healed".into());
        self.calm = true;
        let mut changed = Vec::new();
        for (&(place, other, _), end) in self.network.ends_mut() {
            if !end.up {
                end.up = true;
                changed.push((place, other));
            }
        }
        for (rail, channel) in self.network.channels_mut() {
            channel.set_up(true);
            if rail == 0 {
                channel.line_mut().mtu = channel.line().mtu.max(1500);
            }
        }
        for (place, other) in changed {
            self.rails_changed(place, other)?;
        }
        for node in self.oracle.living() {
            if self.hosts[node].stopped_until > self.now() {
                self.hosts[node].stopped_until = Time::ZERO;
                self.service(node)?;
                let now = self.now();
                self.poll_by(node, now);
            }
        }
        Ok(())
    }

    /// Plans a mishap for later.
    pub fn plan(&mut self, after_ns: u64, mishap: Mishap) {
        self.schedule_after(after_ns, Event::Mishap(mishap));
    }
}
