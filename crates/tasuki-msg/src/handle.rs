//! Processing of frames from a peer. Every frame is checked in full before it changes anything: a refused
//! frame leaves the endpoint as it was, whatever it says, except for the counts of what has arrived.

use crate::action::{Placement, Sink};
use crate::config::charge;
use crate::control::Controller;
use crate::defect::Defect;
use crate::endpoint::{Early, Endpoint};
use crate::error::FrameError;
use crate::frame::{Data, Frame, Queue, Start};
use crate::ids::{EarlyId, Key, MsgSeq, PeerId, RecvId};
use crate::index::NIL;
use crate::ops::{Incoming, State};

impl<C: Controller> Endpoint<C> {
    /// Processes a frame that a peer's carrier has delivered. The result says where its payload belongs; the
    /// caller must copy it there before its next call.
    pub fn handle_frame(&mut self, from: PeerId, frame: &Frame) -> Result<Placement, FrameError> {
        let peer = self.peers.get_mut(from).ok_or(FrameError::UnknownPeer(from))?;
        peer.counters.received_frames += 1;
        if peer.gone().is_some() {
            peer.counters.late_frames += 1;
            return Err(FrameError::PeerGone(from));
        }
        peer.rx.mark.frames += u64::from(frame.counted());
        if let Frame::Data(data) = frame {
            peer.rx.mark.bytes = peer.rx.mark.bytes.wrapping_add(data.len);
        }
        let result = self.dispatch(from, frame);
        if let Some(peer) = self.peers.get_mut(from) {
            match result {
                Ok(_) => peer.counters.received_bytes += frame.payload_len(),
                Err(error) => {
                    // The sender counts a frame once that it sends by two ways.
                    let twice = matches!(error, FrameError::DuplicateStart(_));
                    peer.rx.mark.frames = peer.rx.mark.frames.wrapping_sub(u64::from(twice));
                    peer.counters.dropped_frames += 1;
                }
            }
        }
        self.after_frame(from);
        result
    }

    fn dispatch(&mut self, from: PeerId, frame: &Frame) -> Result<Placement, FrameError> {
        match *frame {
            Frame::Start(ref start) => return self.handle_start(from, start),
            Frame::Data(ref data) => return self.handle_data(from, data),
            Frame::Grant { seq, upto } => self.handle_grant(from, seq, upto)?,
            Frame::Done { seq } => self.handle_done(from, seq)?,
            Frame::Credit { total } => self.handle_credit(from, total),
            Frame::Recall { keep } => self.handle_recall(from, keep),
            Frame::Return { total } => self.handle_return(from, total)?,
            Frame::Quiesce { epoch, mark } => self.handle_quiesce(from, epoch, mark),
            Frame::Quiesced { epoch, mark } => self.handle_quiesced(from, epoch, mark),
            Frame::Resume { epoch } => self.handle_resume(from, epoch),
            Frame::Bye { mark } => {
                if let Some(peer) = self.peers.get_mut(from) {
                    peer.rx.bye = Some(mark);
                }
            }
        }
        Ok(Placement::NOTHING)
    }

    fn handle_start(&mut self, from: PeerId, start: &Start) -> Result<Placement, FrameError> {
        let early = start.early;
        if start.inline > early || early > start.len {
            return Err(FrameError::Malformed("inline <= early <= len does not hold"));
        }
        if !start.charged && early > 0 {
            return Err(FrameError::Malformed("payload without credit"));
        }
        if !start.ack && (!start.charged || early < start.len) {
            return Err(FrameError::Malformed("a rendezvous whose sender does not wait"));
        }
        let peer = self.peers.get_mut(from).ok_or(FrameError::UnknownPeer(from))?;
        if start.seq < peer.rx.next_seq {
            return Err(FrameError::DuplicateStart(start.seq));
        }
        let in_turn = start.seq == peer.rx.next_seq || self.plant.is(Defect::NoResequencing);
        let key = match peer.rx.inbox.get(&start.seq.0) {
            Some(&key) => self.complete_stub(key, start)?,
            None => {
                let cost = if start.charged { charge(early) } else { 0 };
                let filed = !in_turn || start.inline < start.len;
                self.new_message(from, start.seq, early, cost, filed)?
            }
        };
        self.fill_envelope(key, start, in_turn);
        if !in_turn {
            return Ok(self.place_early(key, 0, start.inline));
        }
        self.bump_turn(from);
        self.deliver(key);
        let placement = self.place_early(key, 0, start.inline);
        self.deliver_held(from);
        Ok(placement)
    }

    /// Checks a `Start` some of whose payload came first.
    fn complete_stub(&self, key: Key, start: &Start) -> Result<Key, FrameError> {
        let message = self.incoming.get(key).ok_or(FrameError::UnknownMessage(start.seq))?;
        if message.state != State::Stub {
            return Err(FrameError::DuplicateStart(start.seq));
        }
        if message.early != start.early || start.inline > message.early - message.early_arrived {
            return Err(FrameError::Malformed("start and data disagree about the early part"));
        }
        Ok(key)
    }

    /// Makes the record of a message whose first frame has come, if the peer's credit covers it.
    fn new_message(
        &mut self,
        from: PeerId,
        seq: MsgSeq,
        early: u64,
        cost: u64,
        filed: bool,
    ) -> Result<Key, FrameError> {
        let peer = self.peers.get_mut(from).ok_or(FrameError::UnknownPeer(from))?;
        if cost > peer.rx.credit.unspent() {
            return Err(FrameError::OverCredit(seq));
        }
        peer.rx.credit.spent += cost;
        peer.rx.messages += 1;
        peer.rx.early_missing += early;
        self.early_missing += early;
        let key = self.incoming.insert(Incoming {
            peer: from,
            seq,
            state: State::Stub,
            queue: Queue::Msg,
            tag: 0,
            data: None,
            len: 0,
            remote_key: None,
            ack: false,
            early,
            early_arrived: 0,
            charge: cost,
            buffer: None,
            take: 0,
            granted: early,
            bulk_arrived: 0,
            recv: None,
            base: 0,
            chain: NIL,
            filed,
            grant_queued: false,
            pulling: false,
        });
        if filed {
            peer.rx.inbox.insert(seq.0, key);
        }
        Ok(key)
    }

    fn fill_envelope(&mut self, key: Key, start: &Start, in_turn: bool) {
        let Some(message) = self.incoming.get_mut(key) else { return };
        message.state = State::Held;
        message.queue = start.queue;
        message.tag = if start.queue == Queue::Msg { 0 } else { start.tag };
        message.data = start.data;
        message.len = start.len;
        message.remote_key = start.remote_key;
        message.ack = start.ack;
        if !in_turn {
            if self.plant.is(Defect::HeldLosesData) {
                message.data = None;
            }
            if let Some(peer) = self.peers.get_mut(message.peer) {
                peer.counters.held_messages += 1;
            }
        }
    }

    fn bump_turn(&mut self, from: PeerId) {
        if let Some(peer) = self.peers.get_mut(from) {
            peer.rx.next_seq = peer.rx.next_seq.next();
        }
    }

    /// Delivers the held messages whose turn has come.
    fn deliver_held(&mut self, from: PeerId) {
        loop {
            let Some(peer) = self.peers.get(from) else { return };
            let Some(&key) = peer.rx.inbox.get(&peer.rx.next_seq.0) else { return };
            if self.incoming.get(key).is_none_or(|message| message.state != State::Held) {
                return;
            }
            self.bump_turn(from);
            self.deliver(key);
        }
    }

    fn handle_data(&mut self, from: PeerId, data: &Data) -> Result<Placement, FrameError> {
        let Some(end) = data.offset.checked_add(data.len).filter(|_| data.len > 0) else {
            return Err(FrameError::Malformed("data without bytes, or beyond all lengths"));
        };
        if data.early > 0 && end > data.early {
            return Err(FrameError::Malformed("data beyond the early part that it names"));
        }
        let peer = self.peers.get(from).ok_or(FrameError::UnknownPeer(from))?;
        let key = match peer.rx.inbox.get(&data.seq.0) {
            Some(&key) => key,
            None if data.seq < peer.rx.next_seq || data.early == 0 => {
                return Err(FrameError::UnknownMessage(data.seq));
            }
            None => self.new_message(from, data.seq, data.early, charge(data.early), true)?,
        };
        let message = self.incoming.get(key).ok_or(FrameError::UnknownMessage(data.seq))?;
        if data.early > 0 {
            if message.early != data.early {
                return Err(FrameError::Malformed("pieces disagree about the early part"));
            }
            if data.len > message.early - message.early_arrived {
                return Err(FrameError::NotGranted(data.seq));
            }
            return Ok(self.place_early(key, data.offset, data.len));
        }
        let open = message.granted - message.early - message.bulk_arrived;
        let inside = data.offset >= message.early && end <= message.granted;
        if message.state != State::Receiving || message.pulling || !inside || data.len > open {
            return Err(FrameError::NotGranted(data.seq));
        }
        Ok(self.place_bulk(key, data.offset, data.len))
    }

    /// Decides where a piece of the early part belongs: in its receive, or in an early buffer if no receive
    /// is known or part of it is in such a buffer already.
    fn place_early(&mut self, key: Key, offset: u64, len: u64) -> Placement {
        if len == 0 {
            self.advance(key);
            return Placement::NOTHING;
        }
        let Some(message) = self.incoming.get_mut(key) else { return Placement::NOTHING };
        message.early_arrived += len;
        self.early_missing -= len;
        if let Some(peer) = self.peers.get_mut(message.peer) {
            peer.rx.early_missing -= len;
        }
        let matched = matches!(message.state, State::Receiving | State::Draining);
        let placement = if matched && message.buffer.is_none() {
            self.place_in_recv(key, offset, len)
        } else {
            let (size, from, cost) = (message.early, message.peer, message.charge);
            let buffer = match message.buffer {
                Some(buffer) => buffer,
                None => {
                    let buffer = EarlyId(self.early.insert(Early { peer: from, charge: cost }));
                    message.buffer = Some(buffer);
                    buffer
                }
            };
            Placement { sink: Sink::Early { buffer, size, offset }, len }
        };
        self.advance(key);
        placement
    }

    fn place_bulk(&mut self, key: Key, offset: u64, len: u64) -> Placement {
        let Some(message) = self.incoming.get_mut(key) else { return Placement::NOTHING };
        message.bulk_arrived += len;
        let from = message.peer;
        let placement = self.place_in_recv(key, offset, len);
        self.granted_arrived(from, len);
        self.advance(key);
        placement
    }

    fn place_in_recv(&self, key: Key, offset: u64, len: u64) -> Placement {
        let Some(message) = self.incoming.get(key) else { return Placement::NOTHING };
        let Some(recv) = message.recv else { return Placement::NOTHING };
        let mut len = len.min(message.take.saturating_sub(offset));
        if self.plant.is(Defect::NoTruncation) {
            len = message.early.max(message.take) - offset;
        }
        if len == 0 {
            return Placement::NOTHING;
        }
        let user = self.recvs.get(recv).map_or(0, |op| op.user);
        Placement { sink: Sink::Recv { recv: RecvId(recv), user, offset: message.base + offset }, len }
    }
}
