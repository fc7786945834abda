//! Short messages when nothing stands in their way: the effects of the general path, in one step and without records.
//!
//! Most messages of most programs are like that, and their cost is what latency is made of. Whatever is not covered here takes the
//! general path; a test compares the two.

use crate::action::{RecvDone, SendRequest};
use crate::config::{charge, payload_for};
use crate::control::{Controller, NewMessage};
use crate::endpoint::Endpoint;
use crate::frame::{Queue, Start};
use crate::ids::{Key, MsgSeq, PeerId, RecvId};
use crate::peer::Life;

impl<C: Controller> Endpoint<C> {
    /// Sends a message whole in the frame that is returned, if at most `room` bytes of payload fit and nothing waits before it.
    /// With that the send is over, without an event: the caller must hand the frame to the carrier, with a copy of the payload, before
    /// any other. `None`: nothing has happened; post it.
    #[inline(always)]
    pub fn send_inline(&mut self, request: &SendRequest, room: u64) -> Option<Start> {
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
            let offer = NewMessage { peer: request.peer, len, credit, pull, unanswered };
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
    pub fn recv_inline(&mut self, from: PeerId, start: &Start) -> Option<RecvDone> {
        let len = start.len;
        let whole = start.inline == len && start.early == len && start.charged && !start.ack;
        if !whole {
            return None;
        }
        let tag = if start.queue == Queue::Msg { 0 } else { start.tag };
        let taken = self.take(from, start.seq, start.queue, tag, len)?;
        Some(RecvDone {
            recv: RecvId(taken.recv),
            user: taken.user,
            queue: start.queue,
            source: from,
            tag,
            data: start.data,
            offset: 0,
            len: len.min(taken.capacity),
            total: len,
            last: true,
        })
    }

    /// The same; a function of its own, as it needs all registers.
    #[inline(never)]
    fn take(&mut self, from: PeerId, seq: MsgSeq, queue: Queue, tag: u64, len: u64) -> Option<Taken> {
        // Events must not overtake each other.
        if !self.actions.is_empty() || self.quiescing || !self.plant.is_none() {
            return None;
        }
        let cost = charge(len);
        let peer = self.peers.get_mut(from)?;
        let rx = &mut peer.rx;
        let in_turn = seq == rx.next_seq && rx.inbox.is_empty();
        let calm = peer.life == Life::Living && !peer.quiet.paused && rx.bye.is_none();
        if !in_turn || !calm || cost > rx.ledger.unspent() {
            return None;
        }
        let posted = &mut self.matchers.of(queue).posted;
        let mut steps = 0;
        let key = posted.find(from, tag, &mut steps, self.plant)?;
        let taken = self.recvs.remove_if(key, |op| {
            if op.multi.is_some() {
                return None;
            }
            posted.remove(&op.matching, op.node);
            Some(Taken { recv: key, user: op.user, capacity: op.capacity })
        })?;
        self.match_steps += steps;
        rx.next_seq = seq.next();
        rx.mark.frames += 1;
        let counters = &mut peer.counters;
        counters.received_frames += 1;
        counters.received_bytes += len;
        counters.received_messages += 1;
        counters.matched_messages += 1;
        // It has not been in the pool, but its sender has spent credit, which comes back to be given again.
        let ledger = &mut rx.ledger;
        ledger.spent += cost;
        ledger.freed += cost;
        self.pool.held -= cost;
        if ledger.lacks(self.share) || !self.starved.is_empty() {
            self.released(from);
        }
        Some(taken)
    }
}

/// A receive that is over, with the message that has been found for it.
struct Taken {
    recv: Key,
    user: u64,
    capacity: u64,
}
