//! Carriers: between each two nodes a set of frames under way, from which any may arrive next.

use std::num::NonZeroU64;

use tasuki_msg::{Data, Frame, FrameError, PeerId, Placement, Sink, Transmit};

use super::{Check, World, demand, same};
use crate::node::EarlyBuf;

/// What carriers do, in percent.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// A frame overtakes others.
    pub reorder: u64,
    /// Payload is copied when it is sent, and the buffer released at once (shared memory).
    pub copy: u64,
    /// A `Data` frame arrives in pieces.
    pub cut: u64,
    /// The engine does not look at the actions after a frame, but handles more frames first.
    pub lazy: u64,
    /// A pull fails.
    pub pull_fails: u64,
    /// Payload bytes that fit into a frame: one of these.
    pub rooms: [u64; 3],
}

impl Habits {
    /// In order, whole, from the sender's buffer.
    pub const PLAIN: Habits =
        Habits { reorder: 0, copy: 0, cut: 0, lazy: 0, pull_fails: 0, rooms: [1 << 20; 3] };
}

enum Bytes {
    Copied(Vec<u8>),
    /// Read from the send buffer on arrival, as a retransmission would.
    InPlace {
        name: usize,
        offset: u64,
    },
}

struct InFlight {
    frame: Frame,
    name: Option<usize>,
    bytes: Bytes,
    group: Option<usize>,
}

/// Pieces of one frame that have not arrived, and the send whose buffer they lie in.
pub(super) struct Group {
    pieces: usize,
    name: usize,
}

#[derive(Default)]
pub(super) struct Link {
    pub(super) frames: Vec<Flight>,
    /// Messages from here to there in the order of their posts, cancelled ones left out.
    pub(super) order: Vec<usize>,
    /// Those of `order` that are visible at the receiver.
    pub(super) visible: usize,
}

/// A frame under way.
pub(super) struct Flight(InFlight);

impl Flight {
    /// Must not be under way between two that have agreed on silence.
    pub(super) fn noisy(&self) -> bool {
        self.0.frame.counted() || matches!(self.0.frame, Frame::Data(_))
    }
}

impl World {
    /// Lets the endpoint hand one frame to a carrier; false if it has none for the peer that was picked.
    pub fn transmit(&mut self, node: usize) -> Check<bool> {
        while let Some(peer) = self.nodes[node].ep.poll_active() {
            self.nodes[node].active.insert(peer);
        }
        let active: Vec<PeerId> = self.nodes[node].active.iter().copied().collect();
        if active.is_empty() {
            return Ok(false);
        }
        let peer = self.rng.pick(&active);
        let room = self.rng.pick(&self.habits.rooms);
        let room = NonZeroU64::new(room).ok_or("room 0")?;
        let next = self.nodes[node].ep.poll_transmit(peer, room);
        let there = self.nodes[node].node_for(peer).ok_or("active stranger")?;
        match next {
            None => {
                self.nodes[node].active.remove(&peer);
            }
            Some(transmit) => self.launch(node, there, &transmit, room.get())?,
        }
        self.settle(node)?;
        Ok(true)
    }

    fn launch(&mut self, from: usize, to: usize, transmit: &Transmit, room: u64) -> Check {
        let frame = transmit.frame;
        self.note(|| format!("{from} -> {to}: {frame:?}"));
        let noisy = frame.counted() || matches!(frame, Frame::Data(_));
        demand(!(noisy && self.nodes[from].asked.is_some()), || {
            format!("node {from} asked for silence and says {frame:?}")
        })?;
        // Who has parted does not listen any more.
        let listens = self.nodes[to].peer_for(from).is_some_and(|peer| self.nodes[to].lives(peer));
        demand(!(noisy && listens && self.nodes[to].silent), || {
            format!("node {to} was promised silence and {from} says {frame:?}")
        })?;
        demand(frame.payload_len() <= room, || format!("{frame:?} does not fit in {room}"))?;
        let (bytes, group) = match transmit.payload {
            None => (Bytes::Copied(Vec::new()), None),
            Some(payload) => {
                let name = payload.user as usize;
                let sent = &mut self.sent[name];
                same("payload's send", payload.send, sent.send)?;
                same("payload's length", payload.len, frame.payload_len())?;
                sent.started = true;
                if self.rng.chance(self.habits.copy) {
                    sent.copied = true;
                    let from_byte = payload.offset as usize;
                    let bytes = sent.bytes[from_byte..from_byte + payload.len as usize].to_vec();
                    self.nodes[from].ep.handle_released(payload.send);
                    (Bytes::Copied(bytes), None)
                } else {
                    sent.unreleased += 1;
                    self.groups_made += 1;
                    self.groups.insert(self.groups_made, Group { pieces: 1, name });
                    (Bytes::InPlace { name, offset: payload.offset }, Some(self.groups_made))
                }
            }
        };
        let name = transmit.payload.map(|payload| payload.user as usize);
        self.cover_frame(&frame);
        let whole = InFlight { frame, name, bytes, group };
        self.cut(from, to, whole)
    }

    fn cover_frame(&mut self, frame: &Frame) {
        let what = match frame {
            Frame::Start(start) if start.len == 0 && !start.charged => "empty message without credit",
            Frame::Start(start) if start.early == 0 && start.len > 0 => "request",
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

    /// Carriers may cut `Data` into pieces.
    fn cut(&mut self, from: usize, to: usize, whole: InFlight) -> Check {
        let mut pieces = vec![whole];
        if let Frame::Data(data) = pieces[0].frame
            && data.len > 1
            && self.rng.chance(self.habits.cut)
        {
            let first_len = 1 + self.rng.below(data.len - 1);
            pieces = split(pieces.remove(0), data, first_len);
            if let Some(group) = pieces[0].group.and_then(|group| self.groups.get_mut(&group)) {
                group.pieces += 1;
            }
        }
        let link = self.links.get_mut(&(from, to)).ok_or("no link")?;
        link.frames.extend(pieces.into_iter().map(Flight));
        Ok(())
    }

    pub fn under_way(&self, from: usize, to: usize) -> usize {
        self.links.get(&(from, to)).map_or(0, |link| link.frames.len())
    }

    pub fn busy_links(&self) -> Vec<(usize, usize)> {
        self.links.iter().filter(|(_, link)| !link.frames.is_empty()).map(|(&ends, _)| ends).collect()
    }

    /// One frame of a link is lost with its dead sender.
    pub fn lose(&mut self, from: usize, to: usize) {
        if let Some(link) = self.links.get_mut(&(from, to)) {
            link.frames.pop();
        }
    }

    /// Some frame of a link arrives.
    pub fn deliver(&mut self, from: usize, to: usize) -> Check {
        let frames = self.under_way(from, to);
        if frames == 0 {
            return Ok(());
        }
        let at = if self.rng.chance(self.habits.reorder) { self.rng.index(frames) } else { 0 };
        self.deliver_at(from, to, at)
    }

    /// The `at`th of the frames under way arrives.
    pub fn deliver_at(&mut self, from: usize, to: usize, at: usize) -> Check {
        let link = self.links.get_mut(&(from, to)).ok_or("no link")?;
        let Flight(flight) = link.frames.remove(at);
        if !self.nodes[to].alive {
            return Ok(());
        }
        let len = flight.frame.payload_len() as usize;
        let bytes = match flight.bytes {
            Bytes::Copied(bytes) => bytes,
            Bytes::InPlace { name, offset } => self.sent[name].bytes[offset as usize..][..len].to_vec(),
        };
        let peer = self.nodes[to].peer_for(from).ok_or("frame from a stranger")?;
        self.note(|| format!("{to} <- {from}: {:?}", flight.frame));
        // Whole messages may take the short cut.
        let done = match &flight.frame {
            Frame::Start(start) if self.rng.chance(50) => self.nodes[to].ep.recv_inline(peer, start),
            _ => None,
        };
        let answer = match &done {
            Some(done) => Ok(done.placement()),
            None => self.nodes[to].ep.handle_frame(peer, &flight.frame),
        };
        match answer {
            Ok(placement) => {
                self.place(to, peer, placement, &bytes)?;
                if let Some(name) = flight.name {
                    self.arrived(from, to, name, &flight.frame)?;
                }
                if let Some(done) = done {
                    self.recv_done(to, done)?;
                }
            }
            Err(FrameError::PeerGone(_)) if !self.nodes[to].lives(peer) => {
                self.cover("late frame");
                if let Some(name) = flight.name {
                    self.sent[name].refused = true;
                }
            }
            Err(error) => return Err(format!("node {to} refuses {:?} from {from}: {error}", flight.frame)),
        }
        // A goodbye changes what the model expects of the next call, so its events are not left waiting.
        let parted = self.nodes[to].ep.peer_status(peer).is_some_and(|status| status.gone);
        if parted || !self.rng.chance(self.habits.lazy) {
            self.settle(to)?;
        }
        self.release(flight.group)
    }

    /// The carrier's acknowledgement: the sender's buffer is no longer needed for this frame.
    fn release(&mut self, group: Option<usize>) -> Check {
        let Some(id) = group else { return Ok(()) };
        let Some(group) = self.groups.get_mut(&id) else { return Ok(()) };
        group.pieces -= 1;
        if group.pieces > 0 {
            return Ok(());
        }
        let name = group.name;
        self.groups.remove(&id);
        let sent = &mut self.sent[name];
        sent.unreleased -= 1;
        let (from, send) = (sent.from, sent.send);
        if self.nodes[from].alive {
            self.nodes[from].ep.handle_released(send);
            self.settle(from)?;
        }
        Ok(())
    }

    fn place(&mut self, node: usize, peer: PeerId, placement: Placement, bytes: &[u8]) -> Check {
        let len = placement.len as usize;
        demand(len <= bytes.len(), || format!("{placement:?} of {} bytes", bytes.len()))?;
        match placement.sink {
            Sink::Nowhere => Ok(()),
            Sink::Recv { recv, user, offset } => {
                let buffer = &mut self.nodes[node].recvs[user as usize];
                same("placement's receive", recv, buffer.id)?;
                demand(!buffer.over, || "payload for a receive that is over".into())?;
                let offset = offset as usize;
                demand(offset + len <= buffer.capacity as usize, || format!("{placement:?} overruns"))?;
                buffer.bytes[offset..offset + len].copy_from_slice(&bytes[..len]);
                Ok(())
            }
            Sink::Early { buffer, size, offset } => {
                let entry = self.nodes[node].early.entry(buffer.index()).or_insert_with(|| EarlyBuf {
                    id: buffer,
                    peer,
                    bytes: vec![0x77; size as usize],
                });
                same("early buffer", (entry.id, entry.bytes.len() as u64, entry.peer), (buffer, size, peer))?;
                let offset = offset as usize;
                entry.bytes[offset..offset + len].copy_from_slice(&bytes[..len]);
                Ok(())
            }
        }
    }

    /// For the model: payload has arrived, and with a start perhaps messages whose turn it is.
    fn arrived(&mut self, from: usize, to: usize, name: usize, frame: &Frame) -> Check {
        self.sent[name].arrived += frame.payload_len();
        if !matches!(frame, Frame::Start(_)) {
            if !self.sent[name].start_arrived {
                self.cover("data before its start");
            }
            return Ok(());
        }
        self.sent[name].start_arrived = true;
        loop {
            let link = self.links.get_mut(&(from, to)).ok_or("no link")?;
            let Some(&next) = link.order.get(link.visible) else { return Ok(()) };
            if !self.sent[next].start_arrived {
                if next != name {
                    self.cover("start before its turn");
                }
                return Ok(());
            }
            link.visible += 1;
            let message = self.sent[next].message;
            self.nodes[to].tally.entry(message.source).or_default().received += 1;
            let matched = self.nodes[to].model.arrive(message);
            self.cover(if matched.is_some() { "expected message" } else { "unexpected message" });
            self.matched(to, matched.as_slice());
        }
    }
}

fn split(whole: InFlight, data: Data, first_len: u64) -> Vec<InFlight> {
    let second = Data { offset: data.offset + first_len, len: data.len - first_len, ..data };
    let (first_bytes, second_bytes) = match whole.bytes {
        Bytes::Copied(mut bytes) => {
            let rest = bytes.split_off(first_len as usize);
            (Bytes::Copied(bytes), Bytes::Copied(rest))
        }
        Bytes::InPlace { name, offset } => {
            (Bytes::InPlace { name, offset }, Bytes::InPlace { name, offset: offset + first_len })
        }
    };
    let (name, group) = (whole.name, whole.group);
    vec![
        InFlight { frame: Frame::Data(Data { len: first_len, ..data }), name, bytes: first_bytes, group },
        InFlight { frame: Frame::Data(second), name, bytes: second_bytes, group },
    ]
}
