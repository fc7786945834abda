//! Probing: looking at unexpected messages, reserving them, dropping them (`FI_PEEK`, `FI_CLAIM`,
//! `FI_DISCARD`).
//!
//! Answers are immediate, so a probe never races with a receive: the earlier call gets the message.

use crate::action::{Found, Matching};
use crate::control::Controller;
use crate::defect::Defect;
use crate::endpoint::Endpoint;
use crate::error::ClaimError;
use crate::ids::{ClaimId, Key, RecvId};
use crate::ops::{RecvOp, State};
use crate::outstanding::{Outstanding, name_all};

impl<C: Controller> Endpoint<C> {
    /// Names at most `most` operations and messages of each kind that are not over, in no order: receives,
    /// then sends, then unexpected messages. Returns whether these are all.
    pub fn outstanding(&self, most: usize, each: impl FnMut(Outstanding)) -> bool {
        name_all(self, most, each)
    }

    /// The first unexpected message that `matching` accepts (`FI_PEEK`); `None` is `FI_ENOMSG`.
    pub fn peek(&mut self, matching: &Matching) -> Option<Found> {
        let key = self.find_unexpected(&matching.canonical())?;
        if self.plant.is(Defect::PeekConsumes) {
            self.take_unexpected(key);
        }
        self.found(key)
    }

    /// Like [`Endpoint::peek`], and reserves the message (`FI_PEEK | FI_CLAIM`): no receive and no other
    /// probe finds it any more. It must be received with `recv_claimed` or dropped with `discard_claimed`.
    pub fn claim(&mut self, matching: &Matching) -> Option<(ClaimId, Found)> {
        let key = self.find_unexpected(&matching.canonical())?;
        let found = self.found(key)?;
        if !self.plant.is(Defect::ClaimStaysVisible) {
            self.take_unexpected(key);
        }
        self.incoming.get_mut(key)?.state = State::Claimed;
        Some((ClaimId(key), found))
    }

    /// Like [`Endpoint::peek`], and drops the message (`FI_PEEK | FI_DISCARD`). Its send completes as if it
    /// had been received.
    pub fn discard(&mut self, matching: &Matching) -> Option<Found> {
        let key = self.find_unexpected(&matching.canonical())?;
        let found = self.found(key)?;
        self.take_unexpected(key);
        self.drop_message(key);
        Some(found)
    }

    /// Receives a claimed message into a buffer of `capacity` bytes (`FI_CLAIM`).
    pub fn recv_claimed(&mut self, claim: ClaimId, capacity: u64, user: u64) -> Result<RecvId, ClaimError> {
        let matching = self.settle_claim(claim)?;
        let mut op = RecvOp::new(matching, capacity, None, user);
        op.open = false;
        let recv = self.recvs.insert(op);
        self.attach(recv, claim.0);
        Ok(RecvId(recv))
    }

    /// Drops a claimed message (`FI_CLAIM | FI_DISCARD`).
    pub fn discard_claimed(&mut self, claim: ClaimId) -> Result<(), ClaimError> {
        self.settle_claim(claim)?;
        self.drop_message(claim.0);
        Ok(())
    }

    /// Checks a claim and takes its message out of the unexpected ones. A claim whose message is lost ends
    /// here.
    fn settle_claim(&mut self, claim: ClaimId) -> Result<Matching, ClaimError> {
        let message = self.incoming.get(claim.0).ok_or(ClaimError::Unknown)?;
        let (peer, queue, tag) = (message.peer, message.queue, message.tag);
        match message.state {
            State::Claimed => {
                self.take_unexpected(claim.0);
                Ok(Matching { queue, source: crate::Source::Peer(peer), tag, ignore: 0 }.canonical())
            }
            State::Lost(gone) => {
                self.remove_message(claim.0);
                Err(ClaimError::PeerGone(peer, gone))
            }
            _ => Err(ClaimError::Unknown),
        }
    }

    fn found(&self, key: Key) -> Option<Found> {
        let message = self.incoming.get(key)?;
        Some(Found { source: message.peer, tag: message.tag, data: message.data, len: message.len })
    }

    fn drop_message(&mut self, key: Key) {
        let Some(message) = self.incoming.get(key) else { return };
        if let Some(record) = self.peers.get_mut(message.peer) {
            record.counters.discarded_messages += 1;
        }
        self.begin(key, State::Draining);
    }
}
