//! Sending, from the post to the completion.
//!
//! A send gets its sequence number and its credit when it starts, that is when its first frame leaves, not
//! when it is posted. So it can be cancelled until then, and uses credit that has arrived meanwhile. Sends
//! start in the order of the posts and never wait for credit.

use tasuki_tuning::matching;

use crate::action::{Event, Payload, SendRequest, Transmit};
use crate::config::{ENVELOPE, charge, payload_for};
use crate::control::{Controller, NewMessage};
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::error::{Failure, Gone, UnknownPeer};
use crate::frame::{Data, Frame, Queue, Start};
use crate::ids::{Key, PeerId, SendId};
use crate::ops::SendOp;
use crate::peer::Life;

impl<C: Controller> Endpoint<C> {
    /// Posts a send. It never waits and never asks to try again. If the peer is gone, or closed and the
    /// message is not one of the engine itself ([`Queue::Internal`]), the operation completes with that
    /// failure.
    pub fn post_send(&mut self, request: SendRequest) -> Result<SendId, UnknownPeer> {
        let peer = self.peers.get_mut(request.peer).ok_or(UnknownPeer(request.peer))?;
        let life = peer.life;
        let key = self.sends.insert(SendOp {
            peer: request.peer,
            queue: request.queue,
            tag: if request.queue == Queue::Msg { 0 } else { request.tag },
            data: request.data,
            len: request.len,
            user: request.user,
            remote_key: request.remote_key,
            delivery: request.delivery,
            seq: None,
            early: 0,
            upto: 0,
            sent: 0,
            ack: false,
            done: false,
            queued: false,
            unanswered: false,
            pace: None,
            unreleased: 0,
        });
        peer.tx.open += 1;
        let gone = match life {
            // What is under way while a peer is closed may need words of the engines about it.
            Life::Closing if request.queue != Queue::Internal => Gone::Closed,
            Life::Living | Life::Closing => {
                peer.tx.starts.push_back(key);
                self.activate(request.peer);
                return Ok(SendId(key));
            }
            Life::Gone(gone) => gone,
        };
        self.end_send(key, Err(Failure::PeerGone(request.peer, gone)));
        Ok(SendId(key))
    }

    /// From now on messages to this peer of up to `bytes` go whole without a grant, if credit allows,
    /// whatever the controller says: the carrier itself bounds what is under way in the network. 0: as the
    /// controller says.
    pub fn set_whole_max(&mut self, peer: PeerId, bytes: u64) -> Result<(), UnknownPeer> {
        self.peers.get_mut(peer).ok_or(UnknownPeer(peer))?.tx.whole_max = bytes;
        Ok(())
    }

    /// Cancels a send that has not started: returns true, and `SendDone` says `Cancelled`. Returns false if
    /// it is too late; then the send goes on.
    pub fn cancel_send(&mut self, send: SendId) -> bool {
        let Some(op) = self.sends.get(send.0) else { return false };
        if op.seq.is_some() {
            return false;
        }
        let id = op.peer;
        self.end_send(send.0, Err(Failure::Cancelled));
        if let Some(peer) = self.peers.get_mut(id) {
            peer.tx.cancelled += 1;
            // The keys of cancelled sends are removed when their turn comes, or when there are too many of
            // them.
            if peer.tx.cancelled > matching::CANCELLED_MIN + peer.tx.starts.len() / 2 {
                peer.tx.starts.retain(|&key| self.sends.get(key).is_some());
                peer.tx.cancelled = 0;
            }
        }
        true
    }

    /// To be called when the carrier no longer needs the payload of one frame of this send, because it was
    /// copied or has been acknowledged.
    pub fn handle_released(&mut self, send: SendId) {
        let Some(op) = self.sends.get_mut(send.0) else { return };
        op.unreleased = op.unreleased.saturating_sub(1);
        self.settle_send(send.0);
    }

    /// Completes a send if nothing is left to do.
    pub(crate) fn settle_send(&mut self, key: Key) {
        let Some(op) = self.sends.get(key) else { return };
        let mut over = op.is_complete();
        if self.plant.is(Defect::CompleteBeforeReleased) {
            over |= op.seq.is_some() && op.sent == op.len && !op.ack;
        }
        if self.plant.is(Defect::CompleteBeforeDone) {
            over |= op.seq.is_some() && op.sent == op.len && op.unreleased == 0;
        }
        if over {
            self.end_send(key, Ok(()));
        }
    }

    pub(crate) fn end_send(&mut self, key: Key, result: Result<(), Failure>) {
        let Some(op) = self.sends.remove(key) else { return };
        if let Some(peer) = self.peers.get_mut(op.peer) {
            peer.tx.open -= 1;
            if peer.can_say_bye() {
                self.activate(op.peer);
            }
        }
        self.emit(Event::SendDone { send: SendId(key), user: op.user, peer: op.peer, result });
    }

    /// The next send to start; removes cancelled ones on the way.
    pub(crate) fn next_start(&mut self, id: PeerId) -> Option<Key> {
        let peer = self.peers.get_mut(id)?;
        while let Some(&key) = peer.tx.starts.front() {
            if self.sends.get(key).is_some() {
                return Some(key);
            }
            peer.tx.starts.pop_front();
            peer.tx.cancelled -= 1;
        }
        None
    }

    /// Decides how much of the message is sent without a grant, and whether credit is spent on it.
    fn decide_early(&mut self, id: PeerId, key: Key) -> (u64, bool) {
        let (Some(peer), Some(op)) = (self.peers.get_mut(id), self.sends.get(key)) else { return (0, false) };
        let available = peer.tx.credit.available();
        let credit = payload_for(available);
        let unanswered = peer.tx.unanswered;
        let wish = if op.len == 0 || op.pace.is_some() {
            0
        } else if op.len <= peer.tx.whole_max {
            op.len
        } else {
            let pull = peer.options.pull && op.remote_key.is_some();
            self.controller
                .unscheduled(&NewMessage { peer: id, len: op.len, credit, pull, unanswered })
                .min(op.len)
        };
        // A message that should be sent whole becomes a rendezvous if credit is short: sending half of it at
        // once would save no round trip.
        let early = if wish == op.len && credit < wish { 0 } else { wish.min(credit) };
        let charged = (early > 0 || op.len == 0) && available >= ENVELOPE;
        if charged {
            peer.tx.credit.spent += charge(early);
        }
        peer.counters.sent_short_of_credit += u64::from(early < wish || (op.len == 0 && !charged));
        (early, charged)
    }

    /// Starts a send: its `Start` frame with at most `room` bytes of payload.
    pub(crate) fn start(&mut self, id: PeerId, key: Key, room: u64) -> Option<Transmit> {
        let (early, charged) = self.decide_early(id, key);
        let (peer, op) = (self.peers.get_mut(id)?, self.sends.get_mut(key)?);
        let seq = peer.tx.next_seq;
        peer.tx.next_seq = seq.next();
        peer.tx.starts.pop_front();
        let inline = early.min(room).min(peer.options.inline_max);
        op.seq = Some(seq);
        op.early = early;
        op.upto = early;
        op.sent = inline;
        // Without a charge, the envelope is not covered by credit, so the send must stay open until the
        // receiver takes the message.
        op.ack = op.delivery || early < op.len || !charged;
        op.unreleased = 1;
        op.unanswered = early > 0 && early < op.len;
        peer.tx.unanswered += u32::from(op.unanswered);
        if op.ack {
            peer.tx.awaiting.insert(seq.0, key);
        }
        if op.sent < op.upto {
            op.queued = true;
            peer.tx.bulk.push_back(key);
        }
        peer.counters.sent_messages += 1;
        peer.counters.sent_eager += u64::from(early == op.len && charged);
        let frame = Frame::Start(Start {
            seq,
            queue: op.queue,
            tag: op.tag,
            data: op.data,
            len: op.len,
            early,
            inline,
            charged,
            ack: op.ack,
            remote_key: if early < op.len { op.remote_key } else { None },
        });
        let payload = Some(Payload { send: SendId(key), user: op.user, offset: 0, len: inline });
        self.settle_send(key);
        Some(Transmit { frame, payload })
    }

    /// The next piece of a started send, round robin among those that have bytes that may be sent.
    pub(crate) fn next_bulk(&mut self, id: PeerId, room: u64) -> Option<Transmit> {
        let key = self.take_bulk(id)?;
        let peer = self.peers.get_mut(id)?;
        let op = self.sends.get_mut(key)?;
        let in_early = op.sent < op.early;
        let end = if in_early { op.early } else { op.upto };
        let pace = op.pace;
        let room = pace.map_or(room, |pace| room.min(pace.piece()));
        let (offset, len) = (op.sent, (end - op.sent).min(room));
        op.sent += len;
        op.unreleased += 1;
        op.queued = op.sent < op.upto;
        if op.queued {
            peer.tx.bulk.push_back(key);
        }
        let early = if in_early { op.early } else { 0 };
        let frame = Frame::Data(Data { seq: op.seq?, offset, len, early });
        let payload = Some(Payload { send: SendId(key), user: op.user, offset, len });
        if let Some(pace) = pace {
            self.spend_pace(id, pace, len, offset == 0);
        }
        self.settle_send(key);
        Some(Transmit { frame, payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, PeerOptions, Window};

    #[test]
    fn keys_of_cancelled_sends_do_not_pile_up() {
        let mut endpoint = Endpoint::new(Config::default(), Window::default());
        let peer = endpoint.add_peer(PeerOptions::default());
        let (queue, data, remote_key) = (Queue::Tagged, None, None);
        for user in 0..1000 {
            let request =
                SendRequest { peer, queue, tag: 7, data, len: 8, delivery: false, remote_key, user };
            let send = endpoint.post_send(request).expect("a peer");
            assert!(endpoint.cancel_send(send), "it has not started");
        }
        let keys = endpoint.peers.get(peer).map(|peer| peer.tx.starts.len());
        assert!(keys.is_some_and(|keys| keys < 100), "{keys:?} keys");
    }
}
