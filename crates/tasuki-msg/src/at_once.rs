//! Short messages when nothing stands in their way: the effects of the general path, in one step and without records.
//!
//! Most messages of most programs are like that, and their cost is what latency is made of. Whatever is not covered here takes the
//! general path; a test compares the two.

use crate::action::{Event, Placement, RecvDone, SendRequest, Sink};
use crate::config::{charge, payload_for};
use crate::control::{Controller, Offer};
use crate::endpoint::Endpoint;
use crate::frame::{Queue, Start};
use crate::ids::{PeerId, RecvId};
use crate::peer::Life;

impl<C: Controller> Endpoint<C> {
    /// Sends a message whole in the frame that is returned, if at most `room` bytes of payload fit and nothing waits before it.
    /// With that the send is over, without an event: the caller must hand the frame to the carrier, with a copy of the payload, before
    /// any other. `None`: nothing has happened; post it.
    pub fn send_now(&mut self, request: &SendRequest, room: u64) -> Option<Start> {
        let len = request.len;
        let peer = self.peers.get_mut(request.peer)?;
        let free = peer.life == Life::Living
            && !peer.active
            && !peer.quiet.holds()
            && peer.tx.starts.is_empty()
            && peer.tx.bulk.is_empty();
        if !free || request.delivery || len > room.min(peer.options.inline_max) || !self.plant.is_none() {
            return None;
        }
        let available = peer.tx.purse.available();
        if charge(len) > available {
            return None;
        }
        if len > 0 {
            let pull = peer.options.pull && request.remote_key.is_some();
            let (credit, unanswered) = (payload_for(available), peer.tx.unanswered);
            let offer = Offer { peer: request.peer, len, credit, pull, unanswered };
            if self.controller.unscheduled(&offer) < len {
                return None;
            }
        }
        peer.tx.purse.spent += charge(len);
        let seq = peer.tx.next_seq;
        peer.tx.next_seq = seq.next();
        peer.tx.mark.frames += 1;
        peer.counters.sent_messages += 1;
        peer.counters.sent_eager += 1;
        peer.counters.sent_frames += 1;
        peer.counters.sent_bytes += len;
        Some(Start {
            seq,
            queue: request.queue,
            tag: if request.queue == Queue::Msg { 0 } else { request.tag },
            data: request.data,
            len,
            early: len,
            inline: len,
            charged: true,
            ack: false,
            remote_key: None,
        })
    }

    /// Takes a whole message whose turn it is and for which a receive waits. `None`: nothing has happened.
    pub(crate) fn take_whole(&mut self, from: PeerId, start: &Start) -> Option<Placement> {
        let len = start.len;
        if start.inline != len || start.early != len || start.ack || !start.charged || !self.plant.is_none() {
            return None;
        }
        let cost = charge(len);
        let peer = self.peers.get_mut(from)?;
        let in_turn = start.seq == peer.rx.next_seq && peer.rx.inbox.is_empty();
        if !in_turn || peer.life != Life::Living || cost > peer.rx.ledger.unspent() {
            return None;
        }
        let tag = if start.queue == Queue::Msg { 0 } else { start.tag };
        let (mut steps, plant) = (0, self.plant);
        let recv = self.matcher(start.queue).posted.find(from, tag, &mut steps, plant)?;
        if self.recvs.get(recv)?.multi.is_some() {
            return None;
        }
        let op = self.recvs.remove(recv)?;
        self.matcher(start.queue).posted.remove(&op.matching, op.node);
        self.match_steps += steps;
        let peer = self.peers.get_mut(from)?;
        peer.rx.next_seq = start.seq.next();
        peer.rx.ledger.spent += cost;
        peer.counters.received_messages += 1;
        peer.counters.matched_messages += 1;
        self.release(from, cost);
        let take = len.min(op.capacity);
        let (recv, user) = (RecvId(recv), op.user);
        self.emit(Event::RecvDone(RecvDone {
            recv,
            user,
            queue: start.queue,
            source: from,
            tag,
            data: start.data,
            offset: 0,
            len: take,
            total: len,
            last: true,
        }));
        if take == 0 {
            return Some(Placement::NOTHING);
        }
        Some(Placement { sink: Sink::Recv { recv, user, offset: 0 }, len: take })
    }
}
