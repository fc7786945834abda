//! Sending the bulk of a message at a fixed rate: the ATM paper's static mode, in which a sender keeps to the
//! rate at which its receiver drains.
//!
//! The layer has no clock: its owner tells the time with [`Endpoint::handle_time`] and asks with
//! [`Endpoint::time_due`] when to do so again. All paced messages to one peer share its receiver, so they are
//! sent one behind the other, each piece at the rate of its message.

use tasuki_tuning::fixed_rate;

use crate::control::Controller;
use crate::endpoint::Endpoint;
use crate::ids::{Key, PeerId, SendId};

/// The rate at which the bulk of a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Rate, bit/s; at least 1.
    pub bps: u64,
    /// Bytes that are sent at once, and that a sender may catch up with if it was late.
    pub slack: u64,
}

impl Pace {
    /// Size of a piece that is sent at once, bytes.
    pub(crate) fn piece(&self) -> u64 {
        self.slack.clamp(fixed_rate::PIECE_MIN, fixed_rate::PIECE_MAX)
    }

    /// Time that so many bytes take at this rate, ns.
    pub fn time_of(&self, bytes: u64) -> u64 {
        let ns = u128::from(bytes) * 8_000_000_000 / u128::from(self.bps.max(1));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

impl<C: Controller> Endpoint<C> {
    /// Sets the pace of a send that has not started. It then becomes a rendezvous as a whole, with nothing
    /// sent before a grant. Has no effect on a send that has started.
    pub fn pace_send(&mut self, send: SendId, pace: Pace) {
        if let Some(op) = self.sends.get_mut(send.0).filter(|op| op.seq.is_none()) {
            op.pace = Some(pace);
        }
    }

    /// Tells the time, ns of any clock that does not run backwards. Returns true if something may be sent now
    /// that had to wait before: paced bulk, or grants.
    pub fn handle_time(&mut self, now_ns: u64) -> bool {
        self.now = self.now.max(now_ns);
        let grants = self.controller.time_passed(self.now);
        if grants {
            self.issue_grants();
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

    /// When [`Endpoint::handle_time`] must be called next, ns; `None` if nothing waits for a time.
    pub fn time_due(&self) -> Option<u64> {
        let paced = self.paced.iter().map(|(at, _)| *at).min();
        let grants = self.controller.due();
        paced.into_iter().chain(grants).min()
    }

    /// Takes the next message to a peer that may send bulk now out of the queue.
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

    /// Accounts for a piece of a paced message that is being sent. The first piece has no time to catch up
    /// with.
    pub(crate) fn spend_pace(&mut self, id: PeerId, pace: Pace, bytes: u64, first: bool) {
        let late = if first { 0 } else { pace.time_of(pace.slack) };
        let earliest = self.now.saturating_sub(late);
        if let Some(peer) = self.peers.get_mut(id) {
            let from = peer.tx.pace_at.max(earliest);
            peer.tx.pace_at = from.saturating_add(pace.time_of(bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the receiver's buffer, a piece is most of a packet, and other messages wait for it for less
    /// than a millisecond at 100 Mbit/s.
    #[test]
    fn pieces_are_as_long_as_packets_and_soon_over() {
        for slack in [0, 16, 4_096, 1 << 20, u64::MAX] {
            let pace = Pace { bps: 100_000_000, slack };
            assert!(pace.piece() >= 700, "{slack}: {}", pace.piece());
            assert!(pace.time_of(pace.piece()) < 1_000_000, "{slack}: {}", pace.piece());
        }
    }
}
