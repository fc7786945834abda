//! Short messages by the short cut of both layers, as an engine sends them: the bytes go with the frame, and the send is over.

use tasuki_frames::outgoing;
use tasuki_msg::{Failure, Frame, Queue, SendRequest, Start};
use tasuki_proto::{ConnId, Outgoing, Payload};

use super::calls::SendSpec;
use super::core::{Check, Core, demand, same};
use super::node::{Fate, Sent};
use super::world::{Carriage, World};

/// Longer messages take the general way, bytes.
const AT_ONCE: u64 = 256;
/// So many wait for others at most.
const HELD: u64 = 16;
/// And for so long, ns.
const LATER: u64 = 100_000;

impl World {
    /// Posts a send; returns the message's name. Two of three that could take the short cut do; of these every second one waits for others, as do all that come
    /// where others wait.
    pub fn send(&mut self, from: usize, to: usize, spec: SendSpec) -> Check<usize> {
        let conn = self.hosts[from].conns.of_node.get(&to).copied();
        let proto = &self.hosts[from].proto;
        let conn = conn.filter(|conn| self.carriage != Carriage::Perfect && proto.can_coalesce(*conn, HELD));
        let waits = conn.is_some_and(|conn| self.core.sent.len() % 3 == 1 || !proto.can_send_inline(conn));
        let tried = spec.len <= AT_ONCE && !self.core.sent.len().is_multiple_of(3);
        let Some(conn) = conn.filter(|_| tried) else { return self.core.send(from, to, spec) };
        let Some((name, start, bytes)) = self.core.send_inline(from, to, spec)? else {
            return self.core.send(from, to, spec);
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
                self.core.cover("packet at once");
                self.launch(from, transmit, &packet[..transmit.len])
            }
            None => Ok(()),
        };
        self.packet = packet;
        launched?;
        self.service(from)?;
        Ok(name)
    }

    /// A message waits for others, until the node does anything else, or somebody sees to it.
    fn hold(&mut self, from: usize, conn: ConnId, start: Outgoing, bytes: &[u8]) {
        let proto = &mut self.hosts[from].proto;
        self.core.cover(if proto.can_send_inline(conn) { "held" } else { "held behind others" });
        proto.coalesce(conn, start, bytes);
        let at = self.now().after(self.rng.below(LATER));
        self.poll_by(from, at);
    }
}

impl Core {
    /// A message by the short cut, if it can be: its name, its frame and its bytes. With that the send is over.
    fn send_inline(
        &mut self,
        from: usize,
        to: usize,
        spec: SendSpec,
    ) -> Check<Option<(usize, Start, Vec<u8>)>> {
        let name = self.sent.len();
        let peer = self.nodes[from].peer_for(to).ok_or("not acquainted")?;
        let SendSpec { queue, tag, data, len, delivery, .. } = spec;
        if self.pace(len).is_some() {
            return Ok(None);
        }
        let request =
            SendRequest { peer, queue, tag, data, len, delivery, remote_key: None, user: name as u64 };
        let Some(start) = self.nodes[from].ep.send_inline(&request, len) else { return Ok(None) };
        let frame = Frame::Start(start);
        self.note(|| format!("node {from} sends message {name} to {to} at once: {frame:?}"));
        self.cover("sent at once");
        self.check_silence(from, to, &frame)?;
        let link = self.link(from, to)?;
        // It overtakes nothing.
        same("order of starts", link.order.len(), link.started)?;
        same("sequence number", start.seq.0 as usize, link.started)?;
        link.order.push(name);
        link.started += 1;
        link.starts_out += 1;
        demand(start.len == len && start.inline == len, || format!("{start:?} is not whole"))?;
        let mut sent = Sent::new((from, to, peer), spec, name);
        let bytes = sent.bytes.clone();
        (sent.started, sent.copied, sent.result) = (true, true, Some(Ok::<(), Failure>(())));
        self.sent.push(sent);
        self.scribble(name);
        Ok(Some((name, start, bytes)))
    }
}

impl Sent {
    /// A message that has not been posted yet.
    pub fn new((from, to, peer): (usize, usize, tasuki_msg::PeerId), spec: SendSpec, name: usize) -> Sent {
        let SendSpec { queue, tag, data, len, delivery, remote_key } = spec;
        let mut bytes = vec![0; len as usize];
        super::content::fill(name, 0, &mut bytes);
        Sent {
            from,
            to,
            peer,
            send: None,
            queue,
            tag: if queue == Queue::Msg { 0 } else { tag },
            data,
            len,
            remote_key,
            bytes,
            delivery,
            started: false,
            start_arrived: false,
            arrived: super::content::Pieces::default(),
            copied: from == to,
            refused: false,
            unreleased: 0,
            cancelled: false,
            result: None,
            fate: Fate::Waiting,
        }
    }
}
