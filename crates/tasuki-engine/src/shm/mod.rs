//! The shared-memory carrier: messages between endpoints on one host.
//!
//! Every endpoint has a segment with one ring for each peer that writes to it (`tasuki-ring`). "On the same
//! host" means that the peer's segment can be opened, never that host names are equal. Short messages take
//! the fast path of `inline.rs`; long ones are fetched out of the sender's memory, by the receiver alone or
//! by both ends ([`dual_copy`]).

mod control;
mod departed;
pub(crate) mod dual_copy;
pub(crate) mod inline;
mod kernel_copy;
mod outbound;
mod payload;
mod record;
mod senders;

use tasuki_proto::Time;
use tasuki_ring::{OpenError, Outbox, Record, Segment, Slot, Token, Verdict};
use tasuki_tuning::shm;

use crate::address::Address;
use crate::api::Peer;
use crate::clock::Clock;
use crate::messages::Messages;
use crate::peers::Peers;
use departed::Suspects;
pub(crate) use departed::{GONE, has_left_rest};
use dual_copy::DualCopies;
use outbound::Outbound;
use payload::{Payload, first_bytes};
use record::HEAD;
use senders::Senders;

/// The carrier.
pub(crate) struct Shm {
    /// Own segment; `None` without shared memory (a full or missing `/dev/shm`, or `TASUKI_SHM=0`).
    segment: Option<Segment>,
    /// Name of the own segment, which is left in peers' segments as the name of the writer.
    token: Token,
    address: Address,
    clock: Clock,
    senders: Senders,
    /// Rings of peers to which this endpoint writes, by peer.
    outbound: Vec<Option<Box<Outbound>>>,
    /// Peers whose ring was full when a frame was to be pushed.
    stalled: Vec<Peer>,
    /// Peers that show signs of having ended.
    suspects: Suspects,
    /// The last poll has found something. Then the next one takes more than one record: otherwise the first
    /// record is handed on before a look for a second, which would cost the transfer of a cache line between
    /// two processors.
    flowing: bool,
    dual_copies: DualCopies,
}

/// What one poll has found.
pub(crate) struct Received {
    /// Something has arrived.
    pub any: bool,
    /// Peers that have written here for the first time.
    pub newcomers: Vec<Peer>,
}

/// Why a peer's segment cannot be used.
pub(crate) enum Unreachable {
    /// The process that made it is gone.
    Dead,
    /// The peer is on another host, or its segment is out of reach: packets work in either case.
    Elsewhere,
}

/// Name of the segment of the endpoint with this address.
pub(crate) fn token_of(address: &Address) -> Token {
    Token::derive(&address.secret, address.incarnation, address.endpoint)
}

impl Shm {
    pub fn new(segment: Option<Segment>, address: Address, clock: Clock, dual_copies: DualCopies) -> Shm {
        Shm {
            segment,
            token: token_of(&address),
            address,
            clock,
            senders: Senders::default(),
            outbound: Vec::new(),
            stalled: Vec::new(),
            suspects: Suspects::default(),
            flowing: false,
            dual_copies,
        }
    }

    /// Whether this endpoint has a segment.
    pub fn is_open(&self) -> bool {
        self.segment.is_some()
    }

    /// Opens the ring to a peer. Gives the most payload of one record, bytes, and whether the peer's memory
    /// can be read.
    pub fn connect(&mut self, peer: Peer, address: &Address) -> Result<(u64, bool), Unreachable> {
        if self.segment.is_none() {
            return Err(Unreachable::Elsewhere);
        }
        let outbox = Outbox::open(&token_of(address), &self.token).map_err(|error| match error {
            OpenError::Dead { .. } => Unreachable::Dead,
            _ => Unreachable::Elsewhere,
        })?;
        let outbound = Outbound::new(outbox);
        let options = (outbound.payload_max(), outbound.cma.is_some());
        let index = peer.0 as usize;
        if self.outbound.len() <= index {
            self.outbound.resize_with(index + 1, || None);
        }
        self.outbound[index] = Some(Box::new(outbound));
        Ok(options)
    }

    /// The ring to a peer.
    #[inline(always)]
    pub fn outbound(&self, peer: Peer) -> Option<&Outbound> {
        self.outbound.get(peer.0 as usize)?.as_deref()
    }

    #[inline(always)]
    fn outbound_mut(&mut self, peer: Peer) -> Option<&mut Outbound> {
        self.outbound.get_mut(peer.0 as usize)?.as_deref_mut()
    }
}

/// Receiving.
impl Shm {
    /// Takes in records that peers have written.
    pub fn receive(&mut self, messages: &mut Messages, peers: &mut Peers) -> Received {
        let mut received = Received { any: false, newcomers: Vec::new() };
        let Some(segment) = self.segment.as_mut().filter(|segment| !segment.idle()) else {
            self.flowing = false;
            return received;
        };
        let budget = if self.flowing { shm::RECORDS_MAX } else { 1 };
        let (senders, dual_copies, address) = (&mut self.senders, &mut self.dual_copies, &self.address);
        let taken = segment.receive_raw(budget, |slot, record| {
            match senders.find(slot) {
                Some(peer) => take_record(peer, slot, record, dual_copies, messages, peers),
                None => {
                    // Anything but an introduction is dropped: nobody who was given this endpoint's address
                    // writes it first.
                    let mut head = [0; HEAD];
                    let introduced = control::introduced(address, first_bytes(record, &mut head));
                    if let Some(address) = introduced.filter(|_| record.len() <= HEAD) {
                        let peer = peers.find_or_add(&address, || messages.add_peer());
                        senders.insert(slot, peer);
                        received.newcomers.push(peer);
                    }
                }
            }
            Verdict::Consumed
        });
        received.any = taken > 0;
        self.flowing = received.any;
        received
    }

    /// Whether a poll would find nothing, as far as can be told without one.
    pub fn is_idle(&self) -> bool {
        self.segment.as_ref().is_none_or(Segment::idle)
    }
}

/// Takes in one record of a peer that has introduced itself.
fn take_record(
    peer: Peer,
    slot: Slot,
    record: &Record<'_>,
    dual_copies: &mut DualCopies,
    messages: &mut Messages,
    peers: &Peers,
) {
    let mut head = [0; HEAD];
    let first = first_bytes(record, &mut head);
    if let Some((frame, head)) = record::read(first, record.len()) {
        if let Some(id) = peers.id(peer) {
            messages.deliver(id, &frame, &Payload { record, head });
        }
    } else if let Some(offer) = control::read_request(first).filter(|_| record.len() <= HEAD) {
        dual_copies.accept(peer, slot, offer);
    } else {
        messages.accuse(peer, "a record in shared memory is no frame");
    }
}

/// Sending, on the general path.
impl Shm {
    /// Pushes what the message layer has for a peer. If the ring is full, [`Shm::retry_stalled`] goes on.
    pub fn push(&mut self, peer: Peer, messages: &mut Messages, peers: &Peers) {
        if !self.push_all(peer, messages, peers) && !self.stalled.contains(&peer) {
            self.stalled.push(peer);
        }
    }

    /// True if nothing is left to be pushed for the peer.
    fn push_all(&mut self, peer: Peer, messages: &mut Messages, peers: &Peers) -> bool {
        let own = self.address;
        let Some(record) = peers.get(peer) else { return true };
        let (id, address) = (record.id, record.address);
        self.outbound_mut(peer).is_none_or(|outbound| outbound.push_frames(id, (&own, &address), messages))
    }

    /// Tries again where a ring was full, or gives it up if nobody empties it. True if something was done.
    pub fn retry_stalled(&mut self, messages: &mut Messages, peers: &Peers) -> bool {
        let (mut any, mut at) = (false, 0);
        while at < self.stalled.len() {
            let peer = self.stalled[at];
            if self.is_left(peer, peers) {
                self.abandon(peer, messages);
                self.stalled.swap_remove(at);
                any = true;
            } else if self.push_all(peer, messages, peers) {
                self.stalled.swap_remove(at);
                any = true;
            } else {
                at += 1;
            }
        }
        any
    }

    /// Whether a peer has parted, and its endpoint or its process has ended: nobody takes what waits for it.
    fn is_left(&self, peer: Peer, peers: &Peers) -> bool {
        let is_gone = peers.get(peer).is_some_and(|record| record.gone);
        let outbox = self.outbound(peer).map(|outbound| &outbound.outbox);
        is_gone && outbox.is_some_and(|outbox| outbox.is_shut() || !outbox.alive())
    }

    /// Peers whose ring was full.
    #[inline(always)]
    pub fn stalled(&self) -> &[Peer] {
        &self.stalled
    }

    /// Whether a frame for the peer waits for room in its ring.
    pub fn has_unsent(&self, peer: Peer) -> bool {
        self.outbound(peer).is_some_and(|outbound| outbound.waiting.is_some())
    }
}

/// Ends.
impl Shm {
    /// Looks after the processes that write here and those that this endpoint writes to (a system call for
    /// each). [`Shm::take_dead`] tells, in later rounds, which of them have failed.
    pub fn look_after(&mut self, peers: &Peers) {
        if let Some(segment) = &mut self.segment {
            self.suspects.reap(segment, &mut self.senders);
        }
        for (peer, _) in peers.iter().filter(|(_, record)| !record.gone) {
            self.suspects.look_at(peer, &self.outbound);
        }
    }

    /// A peer has ended. True if [`Shm::take_dead`] tells of that, when all that it has said is received.
    pub fn wait_for_rest(&mut self, peer: Peer, reason: &str, peers: &Peers) -> bool {
        self.suspects.wait_for_rest(peer, reason, self.segment.as_ref(), peers)
    }

    /// The peers that have failed, and why ([`Suspects::take_dead`]).
    pub fn take_dead(&mut self, peers: &Peers, leaving: bool) -> Vec<(Peer, String)> {
        self.suspects.take_dead(self.segment.as_mut(), &mut self.senders, peers, leaving)
    }

    /// Gives up the ring to a peer that has failed: payload that waits is given back.
    pub fn abandon(&mut self, peer: Peer, messages: &mut Messages) {
        self.dual_copies.forget_requests(peer);
        let Some(mut outbound) = self.outbound.get_mut(peer.0 as usize).and_then(Option::take) else {
            return;
        };
        if let Some(payload) = outbound.waiting.take().and_then(|waiting| waiting.payload) {
            messages.release_payload(payload.user);
        }
        self.dual_copies.keep_outbound(peer, outbound);
    }

    /// Closes the ring to a peer that has parted, unless a frame for it still waits; the peer gets all that
    /// was pushed. True if there is no ring (any more).
    pub fn part(&mut self, peer: Peer) -> bool {
        if self.has_unsent(peer) {
            return false;
        }
        if let Some(outbound) = self.outbound.get_mut(peer.0 as usize).and_then(Option::take) {
            self.dual_copies.keep_outbound(peer, outbound);
        }
        true
    }

    /// The monotonic time of the endpoint.
    fn now(&self) -> Time {
        self.clock.now()
    }
}
