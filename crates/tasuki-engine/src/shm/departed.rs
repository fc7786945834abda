//! Peers on this host that have left or died.
//!
//! A peer may say all that it has to say, take leave, and end, while this process waits for a processor. All
//! that, its leave among it, is then still in its ring here, and the peer has not failed. So a sign that a
//! peer has ended counts only when nothing of it is left in the ring, and what was read from there has had
//! its effects.

use tasuki_ring::{Departure, Segment};

use super::{Shm, outbound::Outbound, senders::Senders, token_of};
use crate::api::Peer;
use crate::peers::Peers;

pub(crate) const GONE: &str = "its process on this host is gone";
const GIVEN_UP: &str = "it has given this endpoint up";
const CORRUPT: &str = "its ring in shared memory is corrupt";

/// A peer that shows signs of having ended.
struct Suspect {
    peer: Peer,
    reason: String,
    /// Nothing more is to be read from it.
    read: bool,
}

/// The peers that show signs of having ended.
#[derive(Default)]
pub(super) struct Suspects(Vec<Suspect>);

impl Suspects {
    /// Looks at the ring to a peer, if there is one (a system call).
    pub fn look_at(&mut self, peer: Peer, outbound: &[Option<Box<Outbound>>]) {
        let Some(outbound) = outbound.get(peer.0 as usize).and_then(Option::as_deref) else { return };
        // In this order: a peer that closes its segment in between has left, and may have said something. One
        // that lives has found the contents of the ring impossible, or this process its index.
        let shut = outbound.outbox.is_shut();
        if !outbound.outbox.alive() {
            self.suspect(peer, GONE, false);
        } else if shut {
            self.suspect(peer, CORRUPT, true);
        }
    }

    /// Takes note of the senders that have departed (a system call for each sender).
    pub fn reap(&mut self, segment: &mut Segment, senders: &mut Senders) {
        segment.reap(|slot, _, departure| match (senders.remove(slot), departure) {
            (None, _) => {}
            // One that takes leave closes its ring behind its goodbye, which has had its effects before this
            // suspect counts.
            (Some(peer), Departure::Closed) => self.suspect(peer, GIVEN_UP, false),
            (Some(peer), Departure::Died) => self.suspect(peer, GONE, false),
            (Some(peer), Departure::Corrupt) => self.suspect(peer, CORRUPT, true),
        });
    }

    /// Takes note of a peer that has ended, and why, if it wrote here: false if nothing of it can be left.
    pub fn wait_for_rest(
        &mut self,
        peer: Peer,
        reason: &str,
        segment: Option<&Segment>,
        peers: &Peers,
    ) -> bool {
        let has_more = has_more(peer, segment, peers);
        if has_more {
            self.suspect(peer, reason, false);
        }
        has_more
    }

    /// The peers that have failed, and why. Call it once in a round; between two rounds everything that has
    /// been received must have had its effects. With `leaving`, when nothing may be received any more, what
    /// peers have left in their rings is not waited for.
    pub fn take_dead(
        &mut self,
        mut segment: Option<&mut Segment>,
        senders: &mut Senders,
        peers: &Peers,
        leaving: bool,
    ) -> Vec<(Peer, String)> {
        self.0.retain(|suspect| peers.get(suspect.peer).is_some_and(|record| !record.gone));
        if self.0.is_empty() {
            return Vec::new();
        }
        let is_dead = |suspect: &mut Suspect| suspect.read || leaving;
        let dead = self.0.extract_if(.., is_dead).map(|suspect| (suspect.peer, suspect.reason)).collect();
        // A slot whose sender has died is given back by this, when it is empty.
        if let Some(segment) = segment.as_deref_mut() {
            self.reap(segment, senders);
        }
        for suspect in &mut self.0 {
            suspect.read |= !has_more(suspect.peer, segment.as_deref(), peers);
        }
        dead
    }

    fn suspect(&mut self, peer: Peer, reason: &str, read: bool) {
        match self.0.iter_mut().find(|suspect| suspect.peer == peer) {
            Some(known) => known.read |= read,
            None => self.0.push(Suspect { peer, reason: reason.to_owned(), read }),
        }
    }
}

/// Whether a peer that wrote here has gone, and something of it may still be to be received. False for one
/// that lives: nothing that it may still write is waited for once it was found out of reach.
pub(crate) fn has_left_rest(shm: &Shm, peer: Peer, peers: &Peers) -> bool {
    let address = peers.get(peer).map(|record| record.address);
    let known = shm.segment.as_ref().zip(address);
    known.is_some_and(|(segment, address)| segment.has_left_rest(&token_of(&address)))
}

/// Whether a peer may have left something in its ring here that is still to be received.
fn has_more(peer: Peer, segment: Option<&Segment>, peers: &Peers) -> bool {
    let address = peers.get(peer).map(|record| record.address);
    segment.zip(address).is_some_and(|(segment, address)| segment.has_sender(&token_of(&address)))
}
