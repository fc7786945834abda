//! Credit: how many bytes each peer may send without a grant. All totals only ever grow, so frames that carry
//! them may overtake each other.
//!
//! Invariant: the sum of `RxCredit::held` over all peers is `Pool::held`, which is at most `Pool::size` plus
//! the initial credit of all peers.

use tasuki_tuning::credit;

/// Credit that this side has at a peer, as totals in bytes since the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TxCredit {
    pub total: u64,
    pub spent: u64,
    pub returned: u64,
}

impl TxCredit {
    pub fn available(&self) -> u64 {
        self.total - self.spent - self.returned
    }
}

/// Credit that a peer has at this side, as totals in bytes since the beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RxCredit {
    /// Given to the peer.
    pub granted: u64,
    /// Charges of the messages that have arrived.
    pub spent: u64,
    /// Returned by the peer unspent.
    pub returned: u64,
    /// Charges of the messages whose early payload has left the pool.
    pub freed: u64,
}

impl RxCredit {
    /// Bytes of the pool that belong to this peer: its unspent credit, and its messages in the pool.
    pub fn held(&self) -> u64 {
        self.granted - self.freed - self.returned
    }

    /// Whether the peer lacks so much of its share that giving it more is worth a frame.
    pub fn lacks(&self, share: u64) -> bool {
        let missing = share.saturating_sub(self.held());
        missing > 0 && missing >= share / credit::RETURN_SHARE
    }

    /// Credit that the peer has not spent, as far as this side knows.
    pub fn unspent(&self) -> u64 {
        self.granted - self.spent - self.returned
    }
}

/// The memory for unexpected payload that all peers share, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    pub size: u64,
    pub held: u64,
    /// Largest value of `held` so far.
    pub held_max: u64,
}

impl Pool {
    pub fn new(size: u64) -> Pool {
        Pool { size, held: 0, held_max: 0 }
    }

    pub fn free(&self) -> u64 {
        self.size.saturating_sub(self.held)
    }

    pub fn take(&mut self, bytes: u64) {
        self.held += bytes;
        self.held_max = self.held_max.max(self.held);
    }
}
