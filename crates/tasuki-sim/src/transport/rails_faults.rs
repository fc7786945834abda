//! What mishaps do to rails and processes: cables that are cut and mended, whether hosts notice it or not,
//! holes in the MTU, processes that are stopped for a while or die.

use tasuki_proto::ConnId;

use super::event::Event;
use super::mishap::Mishap;
use super::sample::sample_all;
use super::world::World;
use crate::kernel::Time;
use tasuki_testkit::Check;

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

    /// The endpoint at `place` probes those at `other`.
    pub(super) fn ask(&mut self, place: usize, other: usize) -> Check {
        let Some(&node) = self.tenants.get(&place) else { return Ok(()) };
        if !self.oracle.nodes[node].alive {
            return Ok(());
        }
        let now = tasuki_proto::Time(self.now().0);
        let conns = self.hosts[node].conns.of_conn.clone();
        for (conn, there) in conns {
            if self.hosts[there].place == other {
                self.oracle.cover("asked for a sign of life");
                self.hosts[node].proto.probe_peer(now, conn);
            }
        }
        self.service(node)
    }

    /// The node's process dies. No other node is told.
    pub(super) fn kill(&mut self, node: usize) {
        self.oracle.note(|| format!("node {node} dies"));
        self.oracle.cover("node died");
        sample_all(&self.hosts[node], &mut self.oracle.coverage);
        self.oracle.nodes[node].alive = false;
        self.hosts[node].socket.clear();
        self.hosts[node].socket_held = 0;
    }

    /// Whether the node is dead and no other process has taken its place.
    pub(super) fn tenant_is_dead(&self, node: usize) -> bool {
        self.tenants.get(&self.hosts[node].place) == Some(&node) && !self.oracle.nodes[node].alive
    }
}
