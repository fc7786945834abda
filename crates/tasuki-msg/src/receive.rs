//! Receiving: posted receives, matching, and the life of a message from its match to its completion.

use crate::action::{Action, Event, Matching, RecvDone, RecvRequest, Source};
use crate::control::Controller;
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::error::{Failure, UnknownPeer};
use crate::frame::Queue;
use crate::ids::{EarlyId, Key, PullId, RecvId};
use crate::index::NIL;
use crate::ops::{RecvOp, State};
use crate::peer::Control;

impl Matching {
    /// The canonical form of a matching: on the untagged queue, all bits of the tag are ignored; ignored bits
    /// are 0.
    pub(crate) fn canonical(mut self) -> Matching {
        if self.queue == Queue::Msg {
            self.ignore = u64::MAX;
        }
        self.tag &= !self.ignore;
        self
    }
}

impl<C: Controller> Endpoint<C> {
    /// Posts a receive. If it can only be filled by a peer that is gone, and nothing from that peer is left
    /// to be received, it completes with that failure.
    #[inline(always)]
    pub fn post_recv(&mut self, request: RecvRequest) -> Result<RecvId, UnknownPeer> {
        let matching = request.matching.canonical();
        let gone = match matching.source {
            Source::Any => None,
            Source::Peer(peer) => {
                let record = self.peers.get(peer).ok_or(UnknownPeer(peer))?;
                record.gone().map(|gone| Failure::PeerGone(peer, gone))
            }
        };
        let RecvRequest { capacity, multi, user, .. } = request;
        if gone.is_some() || self.unexpected(matching.queue) > 0 {
            return Ok(self.post_recv_general(RecvOp::new(matching, capacity, multi, user), gone));
        }
        // There is no unexpected message that the receive could take.
        let key = self.recvs.next_key();
        let node = self.matchers.of(matching.queue).posted.insert(&matching, key);
        self.recvs.insert(RecvOp { node, ..RecvOp::new(matching, capacity, multi, user) });
        Ok(RecvId(key))
    }

    /// Posts a receive that may complete or fail at once.
    #[inline(never)]
    fn post_recv_general(&mut self, op: RecvOp, gone: Option<Failure>) -> RecvId {
        let matching = op.matching;
        let key = self.recvs.insert(op);
        let some = self.unexpected(matching.queue) > 0;
        while some && self.recvs.get(key).is_some_and(|op| op.open) {
            let Some(message) = self.find_unexpected(&matching) else { break };
            self.take_unexpected(message);
            self.attach(key, message);
        }
        if self.recvs.get(key).is_some_and(|op| op.open) {
            match gone {
                Some(failure) => self.close_recv(key, failure),
                None => self.enqueue_recv(key, &matching),
            }
        }
        RecvId(key)
    }

    /// Cancels a receive that still waits: returns true, and its last event is `RecvFailed` with `Cancelled`
    /// (after the completions of messages that a multi-receive has begun to take). Returns false if it is too
    /// late; then the receive completes.
    pub fn cancel_recv(&mut self, recv: RecvId) -> bool {
        let Some(op) = self.recvs.get(recv.0) else { return false };
        if !op.open {
            return self.plant.is(Defect::CancelAlwaysWins);
        }
        self.close_recv(recv.0, Failure::Cancelled);
        true
    }

    fn enqueue_recv(&mut self, key: Key, matching: &Matching) {
        let node = self.matchers.of(matching.queue).posted.insert(matching, key);
        if let Some(op) = self.recvs.get_mut(key) {
            op.node = node;
        }
    }

    fn dequeue_recv(&mut self, key: Key) {
        let Some(op) = self.recvs.get_mut(key) else { return };
        op.open = false;
        let (matching, node) = (op.matching, std::mem::replace(&mut op.node, NIL));
        if node != NIL {
            self.matchers.of(matching.queue).posted.remove(&matching, node);
        }
    }

    /// Ends a receive that still accepts messages; the messages that it has got are completed first.
    pub(crate) fn close_recv(&mut self, key: Key, failure: Failure) {
        self.dequeue_recv(key);
        let Some(op) = self.recvs.get_mut(key) else { return };
        op.ending = Some(failure);
        self.end_recv_if_idle(key);
    }

    fn end_recv_if_idle(&mut self, key: Key) {
        let Some(&RecvOp { open: false, active: 0, ending, user, .. }) = self.recvs.get(key) else { return };
        self.recvs.remove(key);
        if let Some(failure) = ending {
            self.emit(Event::RecvFailed { recv: RecvId(key), user, failure, last: true });
        }
    }

    pub(crate) fn find_unexpected(&mut self, matching: &Matching) -> Option<Key> {
        let Endpoint { matchers, incoming, match_steps, plant, .. } = self;
        let envelope = |key| {
            incoming.get(key).map_or((crate::PeerId(u32::MAX), 0), |message| (message.peer, message.tag))
        };
        matchers.of(matching.queue).unexpected.find(matching, envelope, match_steps, *plant)
    }

    pub(crate) fn take_unexpected(&mut self, key: Key) {
        let Some(message) = self.incoming.get_mut(key) else { return };
        let (queue, chain) = (message.queue, std::mem::replace(&mut message.chain, NIL));
        if chain != NIL {
            self.matchers.of(queue).unexpected.remove(chain);
        }
    }

    /// Delivers a message whose turn has come: to the first receive that accepts it, or to the unexpected
    /// messages.
    pub(crate) fn deliver(&mut self, key: Key) {
        let Some(message) = self.incoming.get(key) else { return };
        let (peer, queue, tag) = (message.peer, message.queue, message.tag);
        let (mut steps, plant) = (0, self.plant);
        let found = self.matchers.of(queue).posted.find(peer, tag, &mut steps, plant);
        self.match_steps += steps;
        if let Some(record) = self.peers.get_mut(peer) {
            record.counters.received_messages += 1;
            record.counters.unexpected_messages += u64::from(found.is_none());
        }
        if let Some(recv) = found {
            return self.attach(recv, key);
        }
        let chain = self.matchers.of(queue).unexpected.insert(peer, tag, key);
        if let Some(message) = self.incoming.get_mut(key) {
            message.state = State::Unexpected;
            message.chain = chain;
        }
    }

    /// Gives a message to a receive.
    pub(crate) fn attach(&mut self, recv: Key, key: Key) {
        let plant = self.plant;
        let (Some(op), Some(message)) = (self.recvs.get_mut(recv), self.incoming.get_mut(key)) else {
            return;
        };
        message.base = if plant.is(Defect::MultiOverlap) { 0 } else { op.used };
        message.take = message.len.min(op.capacity - op.used);
        message.recv = Some(recv);
        op.used += message.take;
        op.active += 1;
        let least = match op.multi {
            Some(_) if plant.is(Defect::MultiIgnoresMinimum) => 1,
            Some(min_free) => min_free.max(1),
            None => u64::MAX,
        };
        let retired = op.open && (op.multi.is_none() || op.capacity - op.used < least);
        let peer = message.peer;
        if let Some(record) = self.peers.get_mut(peer) {
            record.counters.matched_messages += 1;
        }
        if retired {
            self.dequeue_recv(recv);
        }
        self.begin(key, State::Receiving);
    }

    /// Begins to take the payload of a message, which has a place from now on (`Receiving`) or is not wanted
    /// (`Draining`).
    pub(crate) fn begin(&mut self, key: Key, state: State) {
        let plant = self.plant;
        let Some(message) = self.incoming.get_mut(key) else { return };
        message.state = state;
        let wants_bulk = message.take > message.early;
        if plant.is(Defect::DirectBesideBuffer) && message.early_arrived < message.early {
            message.buffer = None;
        }
        let Some(record) = self.peers.get_mut(message.peer) else { return };
        record.rx.busy += 1;
        match message.remote_key {
            Some(remote_key) if wants_bulk && record.options.pull => {
                message.pulling = true;
                if let Some(recv) = message.recv {
                    self.actions.push_back(Action::Pull {
                        pull: PullId(key),
                        peer: message.peer,
                        remote_key,
                        offset: message.early,
                        len: message.take - message.early,
                        recv: RecvId(recv),
                        user: self.recvs.get(recv).map_or(0, |op| op.user),
                        at: message.base + message.early,
                    });
                }
            }
            _ if wants_bulk => self.want_grant(key),
            _ => {}
        }
        self.advance(key);
    }

    /// To be called when the caller has copied what an `Action::Pull` asked for, or could not (`copied`
    /// false): then the payload is granted and comes in frames.
    pub fn handle_pulled(&mut self, pull: PullId, copied: bool) {
        let Some(message) = self.incoming.get_mut(pull.0) else { return };
        if !message.pulling {
            return;
        }
        message.pulling = false;
        if copied || self.plant.is(Defect::PullFailureIgnored) {
            message.bulk_arrived = message.take - message.early;
            message.granted = message.take;
            if let Some(record) = self.peers.get_mut(message.peer) {
                record.counters.pulled_bytes += message.bulk_arrived;
            }
        } else {
            self.want_grant(pull.0);
        }
        self.advance(pull.0);
    }

    /// Does what has become possible for a message: empties its early buffer, completes it.
    pub(crate) fn advance(&mut self, key: Key) {
        let Some(message) = self.incoming.get(key) else { return };
        if !matches!(message.state, State::Receiving | State::Draining) {
            return;
        }
        if message.early_arrived == message.early {
            self.clear_early(key);
        }
        if self.incoming.get(key).is_some_and(|message| message.arrived()) {
            self.finish(key);
        }
    }

    /// Empties the buffer of an early part that is complete and has a place, and gives its credit back.
    fn clear_early(&mut self, key: Key) {
        let Some(message) = self.incoming.get_mut(key) else { return };
        let Some(buffer) = message.buffer else { return self.release_message(key) };
        let len = message.early.min(message.take);
        let copy = match message.recv {
            Some(recv) if message.state == State::Receiving && len > 0 => {
                let user = self.recvs.get(recv).map_or(0, |op| op.user);
                Some(Action::Copy { from: buffer, recv: RecvId(recv), user, offset: message.base, len })
            }
            _ => None,
        };
        if self.plant.is(Defect::FreeBeforeCopy) {
            self.actions.extend([Action::FreeEarly(buffer)].into_iter().chain(copy));
            message.buffer = None;
            message.charge = 0;
            return;
        }
        self.actions.extend(copy);
        self.free_early(key, buffer);
    }

    /// Asks the caller to free an early buffer. The credit comes back when the caller polls that action.
    pub(crate) fn free_early(&mut self, key: Key, buffer: EarlyId) {
        if let Some(message) = self.incoming.get_mut(key) {
            message.buffer = None;
            message.charge = 0;
        }
        self.actions.push_back(Action::FreeEarly(buffer));
    }

    /// Gives back the credit of a message that is not in a buffer.
    pub(crate) fn release_message(&mut self, key: Key) {
        let Some(message) = self.incoming.get_mut(key) else { return };
        let (peer, charge) = (message.peer, std::mem::take(&mut message.charge));
        if self.plant.is(Defect::DiscardLeaksCredit) && message.state == State::Draining {
            return;
        }
        self.release(peer, charge);
    }

    fn finish(&mut self, key: Key) {
        let Some(message) = self.incoming.get(key) else { return };
        let (id, seq, ack, draining) =
            (message.peer, message.seq, message.ack, message.state == State::Draining);
        if let Some(recv) = message.recv {
            self.complete(recv, key);
        }
        self.remove_message(key);
        let Some(record) = self.peers.get_mut(id) else { return };
        record.rx.busy -= 1;
        let silent = draining && self.plant.is(Defect::DiscardWithoutDone);
        if ack && record.gone().is_none() && !silent {
            record.tx.control.push_back(Control::Done(seq));
            self.activate(id);
        } else if record.can_say_bye() {
            self.activate(id);
        }
    }

    fn complete(&mut self, recv: Key, key: Key) {
        let (Some(op), Some(message)) = (self.recvs.get_mut(recv), self.incoming.get(key)) else { return };
        op.active -= 1;
        let over = !op.open && op.active == 0;
        let last = over && op.ending.is_none();
        let done = RecvDone {
            recv: RecvId(recv),
            user: op.user,
            queue: message.queue,
            source: message.peer,
            tag: message.tag,
            data: message.data,
            offset: message.base,
            len: message.take,
            total: message.len,
            last: last && !(op.multi.is_some() && self.plant.is(Defect::MultiNeverLast)),
        };
        self.emit(Event::RecvDone(done));
        self.end_recv_if_idle(recv);
    }

    /// Fails a message that a receive was taking and that is lost.
    pub(crate) fn fail_message(&mut self, recv: Key, failure: Failure) {
        let Some(op) = self.recvs.get_mut(recv) else { return };
        op.active -= 1;
        let last = !op.open && op.active == 0 && op.ending.is_none();
        let user = op.user;
        self.emit(Event::RecvFailed { recv: RecvId(recv), user, failure, last });
        self.end_recv_if_idle(recv);
    }

    /// Drops the record of a message.
    pub(crate) fn remove_message(&mut self, key: Key) {
        let Some(message) = self.incoming.remove(key) else { return };
        if let Some(record) = self.peers.get_mut(message.peer) {
            record.rx.messages -= 1;
            if message.filed {
                record.rx.inbox.remove(&message.seq.0);
            }
        }
    }
}
