//! Credit: who may send how many bytes that nobody has asked for. All totals only ever grow, so frames that carry
//! them may overtake each other.
//!
//! Invariant: the sum of `Ledger::held` over all peers is `Pool::held`, and at most `Pool::size` and what
//! all peers have from the start.

/// The sender's side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Purse {
    pub total: u64,
    pub spent: u64,
    pub returned: u64,
}

impl Purse {
    pub fn available(&self) -> u64 {
        self.total - self.spent - self.returned
    }
}

/// The receiver's side, for one peer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ledger {
    /// Given to the peer.
    pub granted: u64,
    /// Charges of the messages that have arrived.
    pub spent: u64,
    /// Handed back unspent.
    pub returned: u64,
    /// Charges of the messages whose early payload has left the pool.
    pub freed: u64,
}

impl Ledger {
    /// Bytes of the pool that are this peer's: unspent credit, and messages in the pool.
    pub fn held(&self) -> u64 {
        self.granted - self.freed - self.returned
    }

    /// So much of a share that it is worth being given is not this peer's.
    pub fn lacks(&self, share: u64) -> bool {
        let missing = share.saturating_sub(self.held());
        missing > 0 && missing >= share / 4
    }

    /// What the peer has not spent, as far as this side knows.
    pub fn unspent(&self) -> u64 {
        self.granted - self.spent - self.returned
    }
}

/// The memory that all peers share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    pub size: u64,
    pub held: u64,
    /// Most that was ever held.
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
