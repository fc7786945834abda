//! The pool of early buffers, shared by all senders.
//!
//! Each of `n` living peers has a share `S = min(peer_bytes, pool_bytes / n')`, where n' is n (or the
//! expected number) rounded up to a power of two. A peer holds its unspent credit plus its messages in the
//! pool. When it holds a quarter of a share too little it is given more, as far as the pool reaches. When
//! that is not enough for some peers, those that hold more than a share are asked to return unspent credit.
//! Nothing waits for credit, so all of this affects only speed.

use tasuki_tuning::credit;

use crate::control::Controller;
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::ids::PeerId;

impl<C: Controller> Endpoint<C> {
    /// To be called when the number of living peers has changed; `new` is the peer that was added.
    pub(crate) fn share_pool(&mut self, new: Option<PeerId>) {
        self.share = self.config.share(self.living);
        if let Some(peer) = new {
            if self.pool.free() < self.share {
                self.recall();
            }
            // A peer with initial credit is told of more only together with other frames, because most
            // processes of a large program have nothing to say to each other.
            if self.refill(peer) && self.config.initial_credit == 0 {
                self.activate(peer);
            }
            return;
        }
        for peer in self.peers.ids() {
            self.top_up(peer);
        }
    }

    fn recall(&mut self) {
        for peer in self.peers.ids() {
            let Some(record) = self.peers.get_mut(peer) else { continue };
            if record.gone().is_none() && record.rx.credit.held() > self.share {
                record.tx.recall_due = true;
                self.activate(peer);
            }
        }
    }

    /// Gives a peer credit up to its share if it has a quarter too little, and sends it a frame about that.
    pub(crate) fn top_up(&mut self, peer: PeerId) {
        if self.refill(peer) {
            self.activate(peer);
        }
    }

    /// Gives a peer credit up to its share if it has a quarter too little; returns whether any was given.
    fn refill(&mut self, peer: PeerId) -> bool {
        let share = self.share;
        self.peers.get(peer).is_some_and(|record| record.rx.credit.lacks(share)) && self.give_credit(peer)
    }

    /// Gives a living peer what it lacks of its share, or what the pool has; returns whether any was given.
    #[cold]
    fn give_credit(&mut self, peer: PeerId) -> bool {
        let share = self.share;
        let mut free = self.pool.free();
        if self.plant.is(Defect::PoolOvercommitted) {
            free = u64::MAX;
        }
        let Some(record) = self.peers.get_mut(peer) else { return false };
        if record.gone().is_some() {
            return false;
        }
        let missing = share.saturating_sub(record.rx.credit.held());
        let given = missing.min(free);
        if given < missing && !record.rx.starved {
            record.rx.starved = true;
            self.starved.push_back(peer);
        }
        // Small amounts of credit would cost a frame for every message.
        let worth = given >= (share / credit::RETURN_SHARE).max(1);
        if worth {
            record.rx.credit.granted += given;
            record.tx.credit_due = true;
            self.pool.take(given);
        }
        worth
    }

    /// Gives back the charge of a message that has left the pool.
    pub(crate) fn release(&mut self, peer: PeerId, charge: u64) {
        if charge == 0 {
            return;
        }
        if let Some(record) = self.peers.get_mut(peer) {
            record.rx.credit.freed += charge;
        }
        self.pool.held -= charge;
        self.released(peer);
    }

    /// To be called when a peer's charge has been freed: it may be given again.
    #[inline(never)]
    pub(crate) fn released(&mut self, peer: PeerId) {
        self.top_up(peer);
        if !self.starved.is_empty() {
            self.refill_starved();
        }
    }

    /// To be called when there is room in the pool again: gives credit to those peers first that have gone
    /// short.
    pub(crate) fn refill_starved(&mut self) {
        for _ in 0..self.starved.len() {
            if self.pool.free() == 0 {
                return;
            }
            let Some(peer) = self.starved.pop_front() else { return };
            if let Some(record) = self.peers.get_mut(peer) {
                record.rx.starved = false;
                self.top_up(peer);
            }
        }
    }
}
