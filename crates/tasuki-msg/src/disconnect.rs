//! The end of a peer, by goodbye or by death.
//!
//! Messages that have arrived whole, in their turn, may still be received: their sender may have left long
//! ago (`MPI_Send`, then `MPI_Finalize`). Everything else that concerns the peer ends at once with an error.
//! Receives from any source stay posted.
//!
//! A peer that says goodbye has received all that it ever will, and the last acknowledgement of that may be
//! lost with it. So sends to it that have left in full end successfully, unless the program wants to know of
//! a delivery that was not confirmed.

use crate::action::Event;
use crate::control::Controller;
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::error::{Failure, Gone, UnknownPeer};
use crate::ids::{Key, PeerId};
use crate::ops::{SendOp, State};
use crate::peer::{Life, Quiet, RxState, TxState};

impl<C: Controller> Endpoint<C> {
    /// Declares a peer dead, because the engine has evidence of it or has given the peer up. Carriers must
    /// not touch any buffer of an operation with this peer any more, as these operations complete with an
    /// error at once.
    pub fn handle_peer_failed(&mut self, peer: PeerId) {
        self.mark_gone(peer, Gone::Failed);
    }

    /// Parts from a peer: new sends of the program to it fail. When the sends under way, those of the engine
    /// itself and all matched messages from it are complete, `Bye` leaves and `PeerGone` follows. That may
    /// take as long as the peer takes to receive; the engine bounds it by `handle_peer_failed`.
    pub fn close_peer(&mut self, id: PeerId) -> Result<(), UnknownPeer> {
        let peer = self.peers.get_mut(id).ok_or(UnknownPeer(id))?;
        if peer.life == Life::Living {
            peer.life = Life::Closing;
            self.activate(id);
        }
        Ok(())
    }

    pub(crate) fn mark_gone(&mut self, id: PeerId, gone: Gone) {
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
        self.fail_messages(id, gone);
        if !self.plant.is(Defect::DeathForgetsReceives) {
            let directed = crate::Source::Peer(id);
            for key in self.recvs.keys_where(|op| op.open && op.matching.source == directed) {
                self.close_recv(key, failure);
            }
        }
        self.reset_peer(id);
        self.share_pool(None);
        self.issue_grants();
        self.check_silence();
    }

    fn fail_messages(&mut self, id: PeerId, gone: Gone) {
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

    /// Resets the record of a peer that is gone: its counters remain, and the pool bytes of those of its
    /// messages that stay.
    fn reset_peer(&mut self, id: PeerId) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let never = peer.rx.in_flight;
        self.in_flight -= never;
        self.early_missing -= peer.rx.early_missing;
        let mut credit = peer.rx.credit;
        self.pool.held -= credit.unspent();
        credit.granted -= credit.unspent();
        let (next_send, next_receive) = (peer.tx.next_seq, peer.rx.next_seq);
        peer.tx = TxState { next_seq: next_send, ..TxState::default() };
        peer.rx = RxState {
            next_seq: next_receive,
            credit,
            messages: peer.rx.messages,
            // The ring of peers that want grants, and the list of starved peers, drop the peer when its turn
            // comes.
            in_ring: peer.rx.in_ring,
            starved: peer.rx.starved,
            ..RxState::default()
        };
        peer.quiet = Quiet::default();
        self.controller.forgotten(never);
    }

    /// Drops the messages of a peer that is gone, for `forget_peer`.
    pub(crate) fn drop_messages_of(&mut self, id: PeerId) {
        for key in self.incoming.keys_where(|message| message.peer == id) {
            self.take_unexpected(key);
            self.lose(key);
        }
    }
}
