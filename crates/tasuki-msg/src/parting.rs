//! The end of a peer: goodbye, or death.
//!
//! Messages that have arrived whole, in their turn, may still be received: their sender may have left long ago
//! (`MPI_Send`, then `MPI_Finalize`). Everything else that concerns the peer ends at once with an error. Receives from
//! any source stay posted.
//!
//! A peer that says goodbye has received all that it ever will, and the last acknowledgement of it may be lost: sends to
//! it that have gone out in full end well then, unless the program wants to know of a delivery that was not confirmed.

use crate::action::Event;
use crate::control::Controller;
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::error::{Failure, Gone, UnknownPeer};
use crate::ids::{Key, PeerId};
use crate::ops::{SendOp, State};
use crate::peer::{Arriving, Life, Outgoing, Quiet};

impl<C: Controller> Endpoint<C> {
    /// The engine has evidence that the peer is dead, or has given it up. Its carriers must not touch any buffer
    /// of an operation with this peer any more: the operations complete with an error at once.
    pub fn handle_peer_failed(&mut self, peer: PeerId) {
        self.bury(peer, Gone::Failed);
    }

    /// Parts from a peer: no new sends to it; when those under way and all matched messages from it are complete,
    /// `Bye` leaves and `PeerGone` follows. May take as long as the peer does to receive: the engine bounds it with
    /// `handle_peer_failed`.
    pub fn close_peer(&mut self, id: PeerId) -> Result<(), UnknownPeer> {
        let peer = self.peers.get_mut(id).ok_or(UnknownPeer(id))?;
        if peer.life == Life::Living {
            peer.life = Life::Closing;
            self.activate(id);
        }
        Ok(())
    }

    pub(crate) fn bury(&mut self, id: PeerId, gone: Gone) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        if peer.gone().is_some() {
            return;
        }
        peer.life = Life::Gone(gone);
        peer.active = false;
        self.living -= 1;
        self.emit(Event::PeerGone { peer: id, gone });
        let failure = Failure::PeerGone(id, gone);
        for key in self.sends.keys_where(|op| op.peer == id) {
            let has_left = |op: &SendOp| op.seq.is_some() && op.sent == op.len && (!op.delivery || op.done);
            let is_fine = gone == Gone::Closed && self.sends.get(key).is_some_and(has_left);
            self.end_send(key, if is_fine { Ok(()) } else { Err(failure) });
        }
        self.bury_messages(id, gone);
        if !self.plant.is(Defect::DeathForgetsReceives) {
            let directed = crate::Source::Peer(id);
            for key in self.recvs.keys_where(|op| op.open && op.matching.source == directed) {
                self.close_recv(key, failure);
            }
        }
        self.bury_records(id);
        self.share_pool(None);
        self.pump();
        self.check_silence();
    }

    fn bury_messages(&mut self, id: PeerId, gone: Gone) {
        for key in self.incoming.keys_where(|message| message.peer == id) {
            let Some(message) = self.incoming.get_mut(key) else { continue };
            let whole = message.whole() && !self.plant.is(Defect::DeathDropsMessages);
            let recv = message.recv;
            match message.state {
                State::Unexpected | State::Claimed if whole => {}
                State::Unexpected if self.plant.is(Defect::DeathKeepsFragments) => {}
                State::Unexpected => {
                    self.take_unexpected(key);
                    self.lose(key);
                }
                State::Claimed => {
                    message.state = State::Lost(gone);
                    self.lose_payload(key);
                }
                State::Lost(_) => {}
                State::Stub | State::Held | State::Draining => self.lose(key),
                State::Receiving => {
                    self.lose(key);
                    if let Some(recv) = recv {
                        self.fail_message(recv, Failure::PeerGone(id, gone));
                    }
                }
            }
        }
    }

    fn lose(&mut self, key: Key) {
        self.lose_payload(key);
        self.remove_message(key);
    }

    fn lose_payload(&mut self, key: Key) {
        match self.incoming.get(key).and_then(|message| message.buffer) {
            Some(buffer) => self.free_early(key, buffer),
            None => self.release_message(key),
        }
    }

    /// What is left of the peer are its counters, and the pool bytes of the messages that stay.
    fn bury_records(&mut self, id: PeerId) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let never = peer.rx.in_flight;
        self.in_flight -= never;
        let mut ledger = peer.rx.ledger;
        self.pool.held -= ledger.unspent();
        ledger.granted -= ledger.unspent();
        let (next_send, next_receive) = (peer.tx.next_seq, peer.rx.next_seq);
        peer.tx = Outgoing { next_seq: next_send, ..Outgoing::default() };
        peer.rx = Arriving {
            next_seq: next_receive,
            ledger,
            messages: peer.rx.messages,
            // The ring and the list of the starved drop the peer when they come to it.
            in_ring: peer.rx.in_ring,
            starved: peer.rx.starved,
            ..Arriving::default()
        };
        peer.quiet = Quiet::default();
        self.controller.forgotten(never);
    }

    /// For `forget_peer`: what was kept of a peer that is gone.
    pub(crate) fn drop_messages_of(&mut self, id: PeerId) {
        for key in self.incoming.keys_where(|message| message.peer == id) {
            self.take_unexpected(key);
            self.lose(key);
        }
    }
}
