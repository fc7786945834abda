//! The fast path of both layers for short messages, as an engine uses it: the bytes go with the frame, and
//! with that the send is over.

use tasuki_frames::outgoing;
use tasuki_msg::Frame;
use tasuki_proto::{ConnId, Outgoing, Payload};

use super::world::{Carriage, World};
use tasuki_testkit::Check;
use tasuki_testkit::oracle::SendSpec;

/// Longest message that takes the fast path, bytes.
const INLINE_MAX: u64 = 256;
/// Most messages that are coalesced.
const COALESCED_MAX: u64 = 16;
/// Longest time that a coalesced message waits, ns.
const COALESCE_NS: u64 = 100_000;

impl World {
    /// Posts a send; returns the message's name. Two of three messages that can take the fast path do so. Of
    /// these every second one is coalesced, that is waits for others; and so is every one that finds others
    /// waiting.
    pub fn send(&mut self, from: usize, to: usize, spec: SendSpec) -> Check<usize> {
        let conn = self.hosts[from].conns.of_node.get(&to).copied();
        let proto = &self.hosts[from].proto;
        let conn = conn
            .filter(|conn| self.carriage != Carriage::Perfect && proto.can_coalesce(*conn, COALESCED_MAX));
        let waits = conn.is_some_and(|conn| self.oracle.sent.len() % 3 == 1 || !proto.can_send_inline(conn));
        let tried = spec.len <= INLINE_MAX && !self.oracle.sent.len().is_multiple_of(3);
        let Some(conn) = conn.filter(|_| tried) else { return self.oracle.send(from, to, spec) };
        let Some((name, start, bytes)) = self.oracle.send_inline(from, to, spec)? else {
            return self.oracle.send(from, to, spec);
        };
        let start = outgoing(&Frame::Start(start), Some(Payload { key: u64::MAX, offset: 0, len: spec.len }));
        if waits {
            self.hold(from, conn, start, &bytes);
            return Ok(name);
        }
        let mut packet = std::mem::take(&mut self.packet);
        let now = tasuki_proto::Time(self.now().0);
        let transmit = self.hosts[from].proto.send_inline(now, conn, start, &bytes, &mut packet);
        let launched = match transmit {
            Some(transmit) => {
                self.oracle.cover("packet inline");
                self.launch(from, transmit, &packet[..transmit.len])
            }
            None => Ok(()),
        };
        self.packet = packet;
        launched?;
        self.service(from)?;
        Ok(name)
    }

    /// Coalesces a message: it waits for others until anything else happens at the node, or for a limited
    /// time.
    fn hold(&mut self, from: usize, conn: ConnId, start: Outgoing, bytes: &[u8]) {
        let proto = &mut self.hosts[from].proto;
        self.oracle.cover(if proto.can_send_inline(conn) { "coalesced" } else { "coalesced behind others" });
        proto.coalesce(conn, start, bytes);
        let at = self.now().after(self.rng.below(COALESCE_NS));
        self.poll_by(from, at);
    }
}
