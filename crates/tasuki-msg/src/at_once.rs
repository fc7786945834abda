//! Short messages when nothing stands in their way: the effects of the general path, in one step and without records.
//!
//! Most messages of most programs are like that, and their cost is what latency is made of. Whatever is not covered here takes the
//! general path; a test compares the two.

use crate::action::{RecvDone, SendRequest};
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
    #[inline(always)]
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

    /// Takes a message that has come whole in this frame, if its turn has come and a receive waits for it. With that the receive is over,
    /// as `RecvDone` says, without an event: the caller must copy the payload (as much as `len`) to the beginning of the receive's buffer.
    /// `None`: nothing has happened; hand the frame to `handle_frame`.
    #[inline(always)]
    pub fn take_now(&mut self, from: PeerId, start: &Start) -> Option<RecvDone> {
        let len = start.len;
        let whole = start.inline == len && start.early == len && start.charged && !start.ack;
        // Events must not overtake each other.
        let free = self.actions.is_empty() && !self.quiescing && self.plant.is_none();
        if !whole || !free {
            return None;
        }
        let cost = charge(len);
        let peer = self.peers.get_mut(from)?;
        let in_turn = start.seq == peer.rx.next_seq && peer.rx.inbox.is_empty();
        let calm = peer.life == Life::Living && !peer.quiet.paused && peer.rx.bye.is_none();
        if !in_turn || !calm || cost > peer.rx.ledger.unspent() {
            return None;
        }
        let tag = if start.queue == Queue::Msg { 0 } else { start.tag };
        let matcher = self.matchers.of(start.queue);
        let mut steps = 0;
        let key = matcher.posted.find(from, tag, &mut steps, self.plant)?;
        let op = self.recvs.get(key)?;
        if op.multi.is_some() {
            return None;
        }
        let (take, user) = (len.min(op.capacity), op.user);
        matcher.posted.remove(&op.matching, op.node);
        self.recvs.forget(key);
        self.match_steps += steps;
        peer.rx.next_seq = start.seq.next();
        peer.rx.ledger.spent += cost;
        peer.rx.mark.frames += 1;
        let counters = &mut peer.counters;
        counters.received_frames += 1;
        counters.received_bytes += len;
        counters.received_messages += 1;
        counters.matched_messages += 1;
        self.release(from, cost);
        Some(RecvDone {
            recv: RecvId(key),
            user,
            queue: start.queue,
            source: from,
            tag,
            data: start.data,
            offset: 0,
            len: take,
            total: len,
            last: true,
        })
    }
}
