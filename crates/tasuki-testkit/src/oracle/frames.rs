//! Frames on their way from one endpoint to another, whatever carries them: each must arrive once, unchanged,
//! and the payload of each must be released once.

use std::num::NonZeroU64;

use tasuki_msg::{Data, Frame, FrameError, PeerId, Placement, Sink, Start, Transmit};

use super::{EarlyBuf, FrameOut, Oracle, audit};
use crate::content::first_wrong;
use crate::model::Message;
use crate::{Check, demand, same};

impl Oracle {
    /// Takes the next frame of `from` for its peer: it has left from now on. The key names its payload in
    /// [`Oracle::read_payload`] and [`Oracle::release_payload`].
    pub fn next_frame(
        &mut self,
        from: usize,
        peer: PeerId,
        room: NonZeroU64,
    ) -> Check<Option<(Transmit, Option<u64>)>> {
        let Some(transmit) = self.nodes[from].ep.poll_transmit(peer, room) else {
            self.nodes[from].set_active(peer, false);
            return Ok(None);
        };
        let to = self.nodes[from].node_for(peer).ok_or("a frame for a stranger")?;
        let frame = transmit.frame;
        self.note(|| format!("{from} -> {to}: {frame:?}"));
        self.check_silence(from, to, &frame)?;
        demand(frame.payload_len() <= room.get(), || format!("{frame:?} does not fit in {room}"))?;
        self.cover_frame(&frame);
        let link = self.link(from, to)?;
        match frame {
            Frame::Start(start) => {
                let expected = link.order.get(link.started).copied();
                let payload = transmit.payload.ok_or("a start without payload")?;
                same("order of starts", Some(payload.user as usize), expected)?;
                same("sequence number", start.seq.0 as usize, link.started)?;
                link.started += 1;
                link.starts_out += 1;
            }
            Frame::Data(data) => link.bytes_out += data.len,
            control => link.controls.push_back(control),
        }
        let key = transmit.payload.map(|payload| self.lend(from, peer, payload, &frame)).transpose()?;
        Ok(Some((transmit, key)))
    }

    /// Notes that the carrier may read the payload from now on.
    fn lend(&mut self, from: usize, peer: PeerId, payload: tasuki_msg::Payload, frame: &Frame) -> Check<u64> {
        let name = payload.user as usize;
        let sent = &mut self.sent[name];
        same("payload's send", Some(payload.send), sent.send)?;
        same("payload's length", payload.len, frame.payload_len())?;
        demand(sent.result.is_none(), || format!("message {name} is over and sends {frame:?}"))?;
        sent.started = true;
        sent.unreleased += 1;
        let node = &mut self.nodes[from];
        node.frames_made += 1;
        let (offset, len) = (payload.offset, payload.len);
        let out = FrameOut { peer, send: payload.send, name, offset, len, detached: false };
        node.frames.insert(node.frames_made, out);
        Ok(node.frames_made)
    }

    /// Copies payload for the carrier, which may ask for it until it releases the frame.
    pub fn read_payload(&mut self, node: usize, key: u64, offset: u64, into: &mut [u8]) -> Check {
        let Some(out) = self.nodes[node].frames.get(&key) else {
            return Err(format!("node {node}: payload {key} is read after its release"));
        };
        demand(offset.saturating_add(into.len() as u64) <= out.len, || {
            format!("node {node}: bytes {offset}..+{} of payload {key}, which has {}", into.len(), out.len)
        })?;
        if out.detached {
            into.fill(0);
            return Ok(());
        }
        let from = (out.offset + offset) as usize;
        into.copy_from_slice(&self.sent[out.name].bytes[from..from + into.len()]);
        Ok(())
    }

    /// The carrier needs a payload no longer. If `given_up`, because its peer is gone, that says nothing
    /// about delivery.
    pub fn release_payload(&mut self, node: usize, key: u64, given_up: bool) -> Check {
        let Some(out) = self.nodes[node].frames.remove(&key) else {
            return Err(format!("node {node}: payload {key} is released twice"));
        };
        let sent = &mut self.sent[out.name];
        demand(sent.unreleased > 0, || format!("message {} has no payload to release", out.name))?;
        sent.unreleased -= 1;
        if !out.detached && !given_up {
            demand(sent.copied || sent.arrived_within(out.offset, out.len), || {
                format!(
                    "message {}: bytes {}..+{} are released and never arrived",
                    out.name, out.offset, out.len
                )
            })?;
            self.nodes[node].ep.handle_released(out.send);
        }
        Ok(())
    }

    /// Brings a frame with its payload to its receiver. If `inline`, a whole message may take the fast path
    /// of the receiver, as it does first in an engine.
    pub fn arrive(&mut self, from: usize, to: usize, frame: &Frame, payload: &[u8], inline: bool) -> Check {
        let peer = self.nodes[to].peer_for(from).ok_or("frame from a stranger")?;
        self.note(|| format!("{to} <- {from}: {frame:?}"));
        self.link(from, to)?.arrived_frames += 1;
        let name = self.account(from, to, frame, payload)?;
        self.nodes[to].ep.controller_mut().set_now(self.now_ns);
        let done = match frame {
            Frame::Start(start) if inline => self.nodes[to].ep.recv_inline(peer, start),
            _ => None,
        };
        let answer = match &done {
            Some(done) => Ok(done.placement()),
            None => self.nodes[to].ep.handle_frame(peer, frame),
        };
        match answer {
            Ok(placement) => {
                if let Some((name, offset)) = name {
                    let wrong = first_wrong(name, offset, payload);
                    demand(wrong.is_none(), || format!("byte {wrong:?} of message {name} arrived wrong"))?;
                }
                self.place(to, peer, placement, payload)?;
                self.appear(from, to, frame)?;
                done.map_or(Ok(()), |done| self.recv_done(to, done))
            }
            Err(FrameError::PeerGone(_)) if !self.nodes[to].lives(peer) => {
                self.cover("late frame");
                if let Some((name, _)) = name {
                    self.sent[name].refused = true;
                }
                Ok(())
            }
            Err(error) => Err(format!("node {to} refuses {frame:?} from {from}: {error}")),
        }
    }

    /// Removes a frame from what is under way. Returns the name of its message and where its payload begins
    /// in that.
    fn account(
        &mut self,
        from: usize,
        to: usize,
        frame: &Frame,
        payload: &[u8],
    ) -> Check<Option<(usize, u64)>> {
        let len = payload.len() as u64;
        let link = self.link(from, to)?;
        let (seq, offset) = match frame {
            Frame::Start(start) => (start.seq.0, 0),
            Frame::Data(data) => (data.seq.0, data.offset),
            control => {
                let at = link.controls.iter().position(|out| out == control);
                let at =
                    at.ok_or_else(|| format!("{control:?} from {from} to {to} came twice or from nowhere"))?;
                link.controls.remove(at);
                return Ok(None);
            }
        };
        same("payload of a frame", len, frame.payload_len())?;
        let name = link.order.get(..link.started).and_then(|order| order.get(seq as usize)).copied();
        let name = name.ok_or_else(|| format!("{frame:?} from {from} to {to} belongs to no message"))?;
        if let Frame::Start(start) = frame {
            link.starts_out = link.starts_out.checked_sub(1).ok_or("more starts arrive than left")?;
            self.check_start(name, start)?;
        } else {
            link.bytes_out = link.bytes_out.checked_sub(len).ok_or("more bytes arrive than left")?;
        }
        let sent = &mut self.sent[name];
        demand(sent.arrived.add(offset, len), || {
            format!("message {name}: bytes {offset}..+{len} came twice")
        })?;
        Ok(Some((name, offset)))
    }

    /// Checks that a start says what was posted.
    fn check_start(&mut self, name: usize, start: &Start) -> Check {
        let sent = &mut self.sent[name];
        demand(!sent.start_arrived, || format!("the start of message {name} came twice"))?;
        sent.start_arrived = true;
        let got = (start.queue, start.tag, start.data, start.len);
        same(format!("envelope of message {name}"), got, (sent.queue, sent.tag, sent.data, sent.len))?;
        if start.early < start.len {
            same(format!("key of message {name}"), start.remote_key, sent.remote_key)?;
        }
        Ok(())
    }

    /// Copies payload to where the endpoint wants it.
    fn place(&mut self, node: usize, peer: PeerId, placement: Placement, bytes: &[u8]) -> Check {
        let len = placement.len as usize;
        demand(len <= bytes.len(), || format!("{placement:?} of {} bytes", bytes.len()))?;
        let here = &mut self.nodes[node];
        match placement.sink {
            Sink::Nowhere => Ok(()),
            Sink::Recv { recv, user, offset } => {
                let buffer = &mut here.recvs[user as usize];
                same("placement's receive", recv, buffer.id)?;
                demand(!buffer.over, || "payload for a receive that is over".into())?;
                let offset = offset as usize;
                demand(offset + len <= buffer.capacity as usize, || format!("{placement:?} overruns"))?;
                buffer.bytes[offset..offset + len].copy_from_slice(&bytes[..len]);
                Ok(())
            }
            Sink::Early { buffer, size, offset } => {
                let index = buffer.index();
                let entry = here.early.entry(index).or_insert_with(|| {
                    here.pool += size;
                    *here.pool_of.entry(peer).or_default() += size;
                    EarlyBuf { id: buffer, peer, bytes: vec![0x77; size as usize] }
                });
                same("early buffer", (entry.id, entry.bytes.len() as u64, entry.peer), (buffer, size, peer))?;
                let offset = offset as usize;
                demand(offset + len <= entry.bytes.len(), || format!("{placement:?} overruns"))?;
                entry.bytes[offset..offset + len].copy_from_slice(&bytes[..len]);
                audit::pool(self, node)
            }
        }
    }

    /// Makes those messages visible in the model whose turn has come.
    fn appear(&mut self, from: usize, to: usize, frame: &Frame) -> Check {
        let seq = match frame {
            Frame::Start(start) => start.seq.0 as usize,
            Frame::Data(Data { seq, .. }) => {
                let link = self.link(from, to)?;
                let name = link.order.get(seq.0 as usize).copied();
                if name.is_some_and(|name| !self.sent[name].start_arrived) {
                    self.cover("data before its start");
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        loop {
            let link = self.link(from, to)?;
            let Some(&next) = link.order.get(link.visible) else { return Ok(()) };
            if !self.sent[next].start_arrived {
                if self.links[&(from, to)].visible <= seq {
                    self.cover("start before its turn");
                }
                return Ok(());
            }
            self.link(from, to)?.visible += 1;
            let sent = &self.sent[next];
            let source = self.nodes[to].peer_for(from).ok_or("a message from a stranger")?;
            let message = Message {
                name: next,
                source,
                queue: sent.queue,
                tag: sent.tag,
                data: sent.data,
                len: sent.len,
            };
            self.nodes[to].tally.entry(source).or_default().received += 1;
            let matched = self.nodes[to].model.arrive(message);
            self.cover(if matched.is_some() { "expected message" } else { "unexpected message" });
            self.matched(to, matched.as_slice());
        }
    }

    /// Checks that no frame leaves in spite of a promise of silence.
    pub(super) fn check_silence(&mut self, from: usize, to: usize, frame: &Frame) -> Check {
        let noisy = frame.counted() || matches!(frame, Frame::Data(_));
        demand(!(noisy && self.nodes[from].asked.is_some()), || {
            format!("node {from} asked for silence and says {frame:?}")
        })?;
        // A node that has parted refuses what still comes, so it may come.
        let there = &self.nodes[to];
        let listens = there.alive && there.peer_for(from).is_some_and(|peer| there.lives(peer));
        demand(!(noisy && listens && there.silent), || {
            format!("node {to} was promised silence and {from} says {frame:?}")
        })
    }

    fn cover_frame(&mut self, frame: &Frame) {
        let what = match frame {
            Frame::Start(start) if start.len == 0 && !start.charged => "empty message without credit",
            Frame::Start(start) if start.early == 0 && start.len > 0 => "rendezvous request",
            Frame::Start(start) if start.early < start.len => "start partly early",
            Frame::Start(start) if start.inline < start.early => "early in several frames",
            Frame::Start(_) => "start whole",
            Frame::Data(_) => "data",
            Frame::Grant { .. } => "grant",
            Frame::Done { .. } => "done",
            Frame::Credit { .. } => "credit",
            Frame::Recall { .. } => "recall",
            Frame::Return { .. } => "return",
            Frame::Quiesce { .. } => "quiesce",
            Frame::Quiesced { .. } => "quiesced",
            Frame::Resume { .. } => "resume",
            Frame::Bye { .. } => "bye",
        };
        self.cover(what);
    }
}
