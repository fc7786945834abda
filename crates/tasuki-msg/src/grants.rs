//! The rendezvous: grants and completions (`Done`) from the receiver, and the frames about credit.

use crate::control::{Controller, Demand};
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::error::FrameError;
use crate::ids::{Key, MsgSeq, PeerId};
use crate::peer::Control;

impl<C: Controller> Endpoint<C> {
    /// To be called when the controller's budget or settings have changed: issues the grants that are
    /// possible now.
    pub fn handle_budget(&mut self) {
        self.issue_grants();
    }

    /// Queues a matched message for grants, because more is wanted of it than its early part.
    pub(crate) fn want_grant(&mut self, key: Key) {
        let Some(message) = self.incoming.get(key) else { return };
        let id = message.peer;
        let Some(peer) = self.peers.get_mut(id) else { return };
        peer.rx.waiting.push_back(key);
        if !peer.rx.in_ring {
            peer.rx.in_ring = true;
            self.ring.push_back(id);
        }
        self.issue_grants();
    }

    /// Accounts for granted bytes that have arrived.
    pub(crate) fn granted_arrived(&mut self, id: PeerId, bytes: u64) {
        self.in_flight -= bytes;
        if let Some(peer) = self.peers.get_mut(id) {
            peer.rx.in_flight -= bytes;
        }
        self.controller.arrived(id, bytes);
        self.issue_grants();
    }

    /// Asks the controller for grants for the peers in turn, until it has refused each of them once in a row.
    pub(crate) fn issue_grants(&mut self) {
        let mut refused = 0;
        while refused < self.ring.len() {
            let Some(id) = self.ring.pop_front() else { return };
            match self.grant_one(id) {
                Some(granted) => {
                    self.ring.push_back(id);
                    refused = if granted { 0 } else { refused + 1 };
                }
                None => {
                    if let Some(peer) = self.peers.get_mut(id) {
                        peer.rx.in_ring = false;
                    }
                }
            }
        }
    }

    /// Asks the controller for a grant for the message of this peer that has waited longest; returns whether
    /// there was one. `None`: no message of the peer waits.
    fn grant_one(&mut self, id: PeerId) -> Option<bool> {
        let peer = self.peers.get_mut(id)?;
        let (key, message) = loop {
            let &key = peer.rx.waiting.front()?;
            match self.incoming.get_mut(key) {
                Some(message) if message.granted < message.take => break (key, message),
                _ => peer.rx.waiting.pop_front(),
            };
        };
        let wanted = message.take - message.granted;
        // The peer has been taken out of the ring for this call.
        let senders = self.ring.len() as u32 + 1;
        let (peer_in_flight, in_flight) = (peer.rx.in_flight, self.in_flight);
        let mut demand = Demand { peer: id, wanted, peer_in_flight, in_flight, senders };
        if self.plant.is(Defect::SilentPeerHoldsWindow) {
            demand.peer_in_flight = demand.peer_in_flight.max(demand.in_flight);
        }
        let granted = self.controller.grant(&demand).min(wanted);
        if granted == 0 {
            return Some(false);
        }
        message.granted += granted;
        peer.rx.in_flight += granted;
        self.in_flight += granted;
        if message.granted == message.take {
            peer.rx.waiting.pop_front();
        }
        if !message.grant_queued {
            message.grant_queued = true;
            peer.tx.control.push_back(Control::Grant(key));
        }
        self.activate(id);
        Some(true)
    }

    pub(crate) fn handle_grant(&mut self, from: PeerId, seq: MsgSeq, upto: u64) -> Result<(), FrameError> {
        let peer = self.peers.get_mut(from).ok_or(FrameError::UnknownPeer(from))?;
        let Some(&key) = peer.tx.awaiting.get(&seq.0) else {
            // A grant may arrive after the message has ended, if it was overtaken by later frames.
            return if seq < peer.tx.next_seq { Ok(()) } else { Err(FrameError::UnknownMessage(seq)) };
        };
        let op = self.sends.get_mut(key).ok_or(FrameError::UnknownMessage(seq))?;
        if upto > op.len {
            return Err(FrameError::Malformed("grant beyond the message"));
        }
        peer.tx.unanswered -= u32::from(std::mem::take(&mut op.unanswered));
        let stale_counts = self.plant.is(Defect::StaleGrantCounts);
        op.upto = if stale_counts { upto.max(op.sent) } else { op.upto.max(upto) };
        if op.sent < op.upto && !op.queued {
            op.queued = true;
            peer.tx.bulk.push_back(key);
            self.activate(from);
        }
        Ok(())
    }

    pub(crate) fn handle_done(&mut self, from: PeerId, seq: MsgSeq) -> Result<(), FrameError> {
        let peer = self.peers.get_mut(from).ok_or(FrameError::UnknownPeer(from))?;
        let &key = peer.tx.awaiting.get(&seq.0).ok_or(FrameError::UnknownMessage(seq))?;
        let op = self.sends.get_mut(key).ok_or(FrameError::UnknownMessage(seq))?;
        if op.sent < op.upto {
            return Err(FrameError::Malformed("done before the payload was sent"));
        }
        op.done = true;
        if op.remote_key.is_some() {
            // What has not gone in frames.
            peer.counters.fetched_bytes += op.len - op.sent;
        }
        peer.tx.awaiting.remove(&seq.0);
        peer.tx.unanswered -= u32::from(std::mem::take(&mut op.unanswered));
        self.settle_send(key);
        Ok(())
    }

    pub(crate) fn handle_credit(&mut self, from: PeerId, total: u64) {
        if let Some(peer) = self.peers.get_mut(from) {
            peer.tx.credit.total = peer.tx.credit.total.max(total);
        }
    }

    pub(crate) fn handle_recall(&mut self, from: PeerId, keep: u64) {
        let Some(peer) = self.peers.get_mut(from) else { return };
        let excess = peer.tx.credit.available().saturating_sub(keep);
        if excess > 0 {
            peer.tx.credit.returned += excess;
            peer.tx.return_due = true;
            self.activate(from);
        }
    }

    pub(crate) fn handle_return(&mut self, from: PeerId, total: u64) -> Result<(), FrameError> {
        let peer = self.peers.get_mut(from).ok_or(FrameError::UnknownPeer(from))?;
        let Some(more) = total.checked_sub(peer.rx.credit.returned) else { return Ok(()) };
        if more > peer.rx.credit.unspent() {
            return Err(FrameError::Malformed("more credit returned than was left"));
        }
        peer.rx.credit.returned += more;
        self.pool.held -= more;
        self.refill_starved();
        Ok(())
    }
}
