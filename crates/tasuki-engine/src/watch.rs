//! What is done from time to time: looking after peers from which nothing is heard, and the statistics page.
//!
//! Silence proves nothing about a peer: what counts is what its host says.

use tasuki_proto::Time;

use crate::api::Peer;
use crate::state::State;

/// Time between two updates of the statistics page, ns.
const INTERVAL: u64 = 200_000_000;

/// Peers are looked after in every so-manieth interval.
const PEERS_EVERY: u64 = 4;

impl State {
    /// Does what is to be done from time to time.
    pub fn watch(&mut self, now: Time) {
        self.next_watch = Time(now.0.saturating_add(INTERVAL));
        self.watched += 1;
        self.write_page();
        if self.watched.is_multiple_of(PEERS_EVERY) {
            self.watch_shared();
            self.watch_packets();
        }
    }

    /// Asks the hosts of peers whether the peers are still there. As long as nothing is under way it does not matter.
    fn watch_packets(&mut self) {
        if self.core.sends.is_empty() && self.core.recvs.is_empty() && !self.closing {
            return;
        }
        for index in 0..self.core.peers.len() {
            let state = &self.core.peers[index];
            if state.conn.is_some() && (!state.gone || self.closing) {
                self.knock(Peer(index as u32));
            }
        }
    }
}
