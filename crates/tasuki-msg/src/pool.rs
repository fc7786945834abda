//! The pool of early buffers, shared by all senders.
//!
//! Each of `n` living peers has a share `S = min(peer_bytes, pool_bytes / n')`, where n' is n (or the expected number)
//! rounded up to a power of two. A peer holds its unspent credit plus its messages in the pool. When it holds a
//! quarter of a share too little it is given more, as far as the pool reaches; when others starve, peers that hold
//! more than a share are asked to hand unspent credit back. Nothing waits for credit, so all of this is only about
//! speed.

use crate::control::Controller;
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::ids::PeerId;

impl<C: Controller> Endpoint<C> {
    /// The number of living peers has changed; `new` is the one that was added.
    pub(crate) fn share_pool(&mut self, new: Option<PeerId>) {
        self.share = self.config.share(self.living);
        if let Some(peer) = new {
            if self.pool.free() < self.share {
                self.recall();
            }
            // Who has credit from the start is told of more with the first words that are said anyway: most processes of a large program have
            // nothing to say to each other.
            if self.fill_up(peer) && self.config.initial_credit == 0 {
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
            if record.gone().is_none() && record.rx.ledger.held() > self.share {
                record.tx.recall_due = true;
                self.activate(peer);
            }
        }
    }

    /// Gives a peer credit up to its share if it has a quarter too little, and tells it.
    pub(crate) fn top_up(&mut self, peer: PeerId) {
        if self.fill_up(peer) {
            self.activate(peer);
        }
    }

    /// Gives it; whether there was anything to give.
    fn fill_up(&mut self, peer: PeerId) -> bool {
        let share = self.share;
        self.peers.get(peer).is_some_and(|record| record.rx.ledger.lacks(share)) && self.give(peer)
    }

    /// Gives a living peer what it lacks of its share, or what there is; whether that was anything.
    #[cold]
    fn give(&mut self, peer: PeerId) -> bool {
        let share = self.share;
        let mut free = self.pool.free();
        if self.plant.is(Defect::PoolOvercommitted) {
            free = u64::MAX;
        }
        let Some(record) = self.peers.get_mut(peer) else { return false };
        if record.gone().is_some() {
            return false;
        }
        let missing = share.saturating_sub(record.rx.ledger.held());
        let given = missing.min(free);
        if given < missing && !record.rx.starved {
            record.rx.starved = true;
            self.starved.push_back(peer);
        }
        // Credit in slivers would cost a frame for every message.
        let worth = given >= (share / 4).max(1);
        if worth {
            record.rx.ledger.granted += given;
            record.tx.credit_due = true;
            self.pool.take(given);
        }
        worth
    }

    /// A message has left the pool.
    pub(crate) fn release(&mut self, peer: PeerId, charge: u64) {
        if charge == 0 {
            return;
        }
        if let Some(record) = self.peers.get_mut(peer) {
            record.rx.ledger.freed += charge;
        }
        self.pool.held -= charge;
        self.released(peer);
    }

    /// What a message has left behind may be given again.
    #[inline(never)]
    pub(crate) fn released(&mut self, peer: PeerId) {
        self.top_up(peer);
        if !self.starved.is_empty() {
            self.feed_starved();
        }
    }

    /// There is room in the pool again: those who went short come first.
    pub(crate) fn feed_starved(&mut self) {
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
