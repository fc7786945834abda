//! Peers on this host that have left or died.
//!
//! A peer may say all that it has to say, take leave, and end, while this process waits for a processor. All
//! that, its leave among it, is then still in its ring here, and the peer has not failed. So a sign that a
//! peer has ended counts only when nothing of it is left in the ring, and what was read from there has had its
//! effects.

use tasuki_ring::Departure;

use super::{Shm, outbound::Outbound, token_of};
use crate::api::Peer;
use crate::peers::Peers;

const GONE: &str = "its process on this host is gone";

/// A peer that shows signs of having ended.
pub(super) struct Suspect {
    peer: Peer,
    reason: &'static str,
    /// Nothing more is to be read from it.
    read: bool,
}

/// Whether a ring to a peer leads nowhere any more.
enum Ring {
    Works,
    /// Its owner's process has ended, or closed its segment.
    Left,
    /// Its owner reads nothing more from it.
    Shut,
}

fn state_of(outbound: &Outbound) -> Ring {
    // In this order: a peer that closes its segment in between has left.
    let shut = outbound.outbox.is_shut();
    match outbound.outbox.alive() {
        false => Ring::Left,
        true if shut => Ring::Shut,
        true => Ring::Works,
    }
}

impl Shm {
    /// Looks after the processes that write here and those that this endpoint writes to (a system call for
    /// each). [`Shm::take_dead`] tells, in later rounds, which of them have failed.
    pub fn look_after(&mut self, peers: &Peers) {
        self.reap();
        for (peer, record) in peers.iter().filter(|(_, record)| !record.gone) {
            debug_assert_eq!(peer, record.id.into());
            match self.outbound(peer).map(state_of) {
                None | Some(Ring::Works) => {}
                Some(Ring::Left) => self.suspect(peer, GONE, false),
                Some(Ring::Shut) => self.suspect(peer, GONE, true),
            }
        }
    }

    /// The peers that have failed, and why. Call it once in a round; between two rounds everything that has
    /// been received must have had its effects. With `leaving`, when nothing may be received any more, what
    /// peers have left in their rings is not waited for.
    pub fn take_dead(&mut self, peers: &Peers, leaving: bool) -> Vec<(Peer, &'static str)> {
        if self.suspects.is_empty() {
            return Vec::new();
        }
        let all = std::mem::take(&mut self.suspects);
        let living =
            all.into_iter().filter(|suspect| !peers.get(suspect.peer).is_none_or(|record| record.gone));
        let (dead, waiting): (Vec<_>, Vec<_>) = living.partition(|suspect| suspect.read || leaving);
        // A slot whose sender has died is given back by this, when it is empty.
        self.reap();
        for mut suspect in waiting {
            suspect.read = !self.is_writing(suspect.peer, peers);
            self.suspects.retain(|newer| newer.peer != suspect.peer);
            self.suspects.push(suspect);
        }
        dead.into_iter().map(|suspect| (suspect.peer, suspect.reason)).collect()
    }

    /// Takes note of the senders that have departed.
    fn reap(&mut self) {
        let Some(segment) = &mut self.segment else { return };
        let mut departed = Vec::new();
        let senders = &mut self.senders;
        segment
            .reap(|slot, _, departure| departed.extend(senders.remove(slot).map(|peer| (peer, departure))));
        for (peer, departure) in departed {
            match departure {
                Departure::Closed => {}
                Departure::Died => self.suspect(peer, GONE, false),
                Departure::Corrupt => self.suspect(peer, "its ring in shared memory is corrupt", true),
            }
        }
    }

    fn suspect(&mut self, peer: Peer, reason: &'static str, read: bool) {
        match self.suspects.iter_mut().find(|suspect| suspect.peer == peer) {
            Some(known) => known.read |= read,
            None => self.suspects.push(Suspect { peer, reason, read }),
        }
    }

    /// Whether the peer has a ring here that may hold something, or may be written to.
    fn is_writing(&self, peer: Peer, peers: &Peers) -> bool {
        let Some((segment, record)) = self.segment.as_ref().zip(peers.get(peer)) else { return false };
        segment.has_sender(&token_of(&record.address))
    }
}
