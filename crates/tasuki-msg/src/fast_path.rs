//! The fast path for short messages: if nothing waits before a message, it is sent or received within one
//! call, without the records that the general path keeps.
//!
//! Most messages of most programs are of this kind, and their cost makes up most of the latency. All other
//! messages take the general path; a test compares the two.

use crate::action::{RecvDone, SendRequest};
use crate::config::{charge, payload_for};
use crate::control::{Controller, NewMessage};
use crate::endpoint::Endpoint;
use crate::frame::{Queue, Start};
use crate::ids::{Key, MsgSeq, PeerId, RecvId};
use crate::peer::Life;

impl<C: Controller> Endpoint<C> {
    /// Sends a message whole, as the payload of the frame that is returned, if at most `room` bytes of
    /// payload fit and nothing waits before it. With that the send is over, without an event: the caller must
    /// hand the frame to the carrier, with a copy of the payload, before any other frame. `None`: nothing has
    /// been done, and the message must be posted.
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
        let available = peer.tx.credit.available();
        if charge(len) > available {
            return None;
        }
        if len > 0 {
            let pull = peer.options.pull && request.remote_key.is_some();
            let (credit, unanswered) = (payload_for(available), peer.tx.unanswered);
            let message = NewMessage { peer: request.peer, len, credit, pull, unanswered };
            if self.controller.unscheduled(&message) < len {
                return None;
            }
        }
        peer.tx.credit.spent += charge(len);
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

    /// Receives a message that is whole in this frame, if its turn has come and a receive waits for it. With
    /// that the receive is over, as the returned `RecvDone` says, without an event: the caller must copy
    /// `len` bytes of the payload to the beginning of the receive's buffer. `None`: nothing has been done,
    /// and the frame must go to `handle_frame`.
    #[inline(always)]
    pub fn recv_inline(&mut self, from: PeerId, start: &Start) -> Option<RecvDone> {
        let len = start.len;
        let whole = start.inline == len && start.early == len && start.charged && !start.ack;
        if !whole {
            return None;
        }
        let tag = if start.queue == Queue::Msg { 0 } else { start.tag };
        let taken = self.match_inline(from, start.seq, start.queue, tag, len)?;
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

    /// Matches the message with a receive and completes it. Not inlined, because it needs all registers.
    #[inline(never)]
    fn match_inline(
        &mut self,
        from: PeerId,
        seq: MsgSeq,
        queue: Queue,
        tag: u64,
        len: u64,
    ) -> Option<Matched> {
        // Completions must not overtake events that still wait in the queue of actions.
        if !self.actions.is_empty() || self.quiescing || !self.plant.is_none() {
            return None;
        }
        let cost = charge(len);
        let peer = self.peers.get_mut(from)?;
        let rx = &mut peer.rx;
        let in_turn = seq == rx.next_seq && rx.inbox.is_empty();
        let calm = peer.life == Life::Living && !peer.quiet.paused && rx.bye.is_none();
        if !in_turn || !calm || cost > rx.credit.unspent() {
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
            Some(Matched { recv: key, user: op.user, capacity: op.capacity })
        })?;
        self.match_steps += steps;
        rx.next_seq = seq.next();
        rx.mark.frames += 1;
        let counters = &mut peer.counters;
        counters.received_frames += 1;
        counters.received_bytes += len;
        counters.received_messages += 1;
        counters.matched_messages += 1;
        // The message has not been in the pool, but its sender has spent credit for it, which can now be
        // given again.
        let credit = &mut rx.credit;
        credit.spent += cost;
        credit.freed += cost;
        self.pool.held -= cost;
        if credit.lacks(self.share) || !self.starved.is_empty() {
            self.released(from);
        }
        Some(taken)
    }
}

/// A receive that has completed, with what its completion needs.
struct Matched {
    recv: Key,
    user: u64,
    capacity: u64,
}
