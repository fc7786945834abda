//! A message's bulk at a rate of its own: the ATM paper's static mode, in which a sender keeps to what its receiver drains.
//!
//! The layer has no clock: its owner tells the time with [`Endpoint::handle_time`] and asks with [`Endpoint::time_due`] when to do so
//! again. All paced messages to one peer share its receiver, so they leave one behind the other, each piece at the rate of its message.

use crate::control::Controller;
use crate::endpoint::Endpoint;
use crate::ids::{Key, PeerId, SendId};

/// How fast the bulk of a message leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Bit/s, at least 1.
    pub bps: u64,
    /// What leaves at once, and what a sender that was late may catch up with, bytes.
    pub slack: u64,
}

/// Pieces that leave at once have at least so many bytes, about a packet, ...
const PIECE_MIN: u64 = 1 << 10;
/// ... and at most so many.
const PIECE_MAX: u64 = 8 << 10;

impl Pace {
    /// Most that leaves at once, bytes.
    pub(crate) fn piece(&self) -> u64 {
        self.slack.clamp(PIECE_MIN, PIECE_MAX)
    }

    /// So many bytes take so long, ns.
    pub fn time_of(&self, bytes: u64) -> u64 {
        let ns = u128::from(bytes) * 8_000_000_000 / u128::from(self.bps.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

impl<C: Controller> Endpoint<C> {
    /// Sets the pace of a send that has not started; it then goes on request as a whole, nothing of it unasked. Later it has no effect.
    pub fn pace_send(&mut self, send: SendId, pace: Pace) {
        if let Some(op) = self.sends.get_mut(send.0).filter(|op| op.seq.is_none()) {
            op.pace = Some(pace);
        }
    }

    /// The time, ns of any clock that does not go back. True if something may leave now that had to wait before: what is paced, or grants.
    pub fn handle_time(&mut self, now_ns: u64) -> bool {
        self.now = self.now.max(now_ns);
        let grants = self.controller.time_passed(self.now);
        if grants {
            self.pump();
        }
        if self.paced.is_empty() {
            return grants;
        }
        let now = self.now;
        let due: Vec<PeerId> =
            self.paced.extract_if(.., |(at, _)| *at <= now).map(|(_, peer)| peer).collect();
        for peer in &due {
            self.activate(*peer);
        }
        grants || !due.is_empty()
    }

    /// When [`Endpoint::handle_time`] is to be called next, ns; `None` if nothing waits for a time.
    pub fn time_due(&self) -> Option<u64> {
        let paced = self.paced.iter().map(|(at, _)| *at).min();
        let grants = self.controller.due();
        paced.into_iter().chain(grants).min()
    }

    /// The next message of a peer that may send bulk now, taken out of its queue.
    pub(crate) fn take_bulk(&mut self, id: PeerId) -> Option<Key> {
        let peer = self.peers.get_mut(id)?;
        let key = peer.tx.bulk.pop_front()?;
        if self.sends.get(key).is_none_or(|op| op.pace.is_none()) {
            return Some(key);
        }
        peer.tx.bulk.push_front(key);
        let may_go = peer.tx.pace_at <= self.now;
        let free = |key: &Key| may_go || self.sends.get(*key).is_none_or(|op| op.pace.is_none());
        if let Some(at) = peer.tx.bulk.iter().position(free) {
            return peer.tx.bulk.remove(at);
        }
        let at = peer.tx.pace_at;
        if !self.paced.iter().any(|(_, peer)| *peer == id) {
            self.paced.push((at, id));
        }
        None
    }

    /// So much of a paced message leaves now. Its first piece has nothing to catch up with.
    pub(crate) fn spend_pace(&mut self, id: PeerId, pace: Pace, bytes: u64, first: bool) {
        let late = if first { 0 } else { pace.time_of(pace.slack) };
        let earliest = self.now.saturating_sub(late);
        if let Some(peer) = self.peers.get_mut(id) {
            let from = peer.tx.pace_at.max(earliest);
            peer.tx.pace_at = from.saturating_add(pace.time_of(bytes));
        }
    }
}
