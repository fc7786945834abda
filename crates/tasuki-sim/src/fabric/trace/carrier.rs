//! What a replay needs of the network that carries its messages.

use crate::fabric::Fabric;

/// A clock and a network between hosts. Times are in picoseconds.
pub(crate) trait Carrier {
    /// The present.
    fn time(&self) -> u64;
    /// Tells the replay at `at` that the timer `what` of a rank is due.
    fn after(&mut self, at: u64, rank: u32, what: u32);
    /// One host hands a packet of a message for another one to the network now.
    fn give(&mut self, hosts: [u32; 2], bytes: u32, message: u32);
}

impl Carrier for Fabric {
    fn time(&self) -> u64 {
        self.now()
    }

    fn after(&mut self, at: u64, rank: u32, what: u32) {
        self.timer(at, rank, what);
    }

    fn give(&mut self, [from, to]: [u32; 2], bytes: u32, message: u32) {
        self.send(from, to, bytes, u64::from(message));
    }
}
