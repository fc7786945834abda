//! Long messages inside a host, which both ends copy (`tasuki_ring::DualCopy`).
//!
//! The receiver that takes a long message begins to read it out of the sender's memory, and tells the sender by a record in its ring; a sender that polls and
//! has nothing else to do then writes the other end of it. One that does not poll, or has no processor of its own, is not waited for: the
//! receiver copies whatever nobody has claimed.
//!
//! What the sender has claimed and not written keeps the receive's memory: whatever becomes of the message and of the peer, the program gets that back only
//! when the sender has written, has said that it cannot, or is gone with all its threads.

use tasuki_msg::{PeerId, PullId, RecvDone};
use tasuki_ring::{DualCopy, DualCopyOffer, Segment, SendersShare};

use crate::actions::{Lost, Pulled, Want};
use crate::api::Peer;
use crate::company::Company;
use crate::core::Core;
use crate::peer::{Shared, Way};
use crate::record::{self, OFFER};
use crate::state::State;

/// Shorter messages are copied by the receiver alone, bytes: two calls of the kernel and a record that is read by the other processor take their time.
const LEAST: u64 = 128 << 10;

/// When its own part is done the receiver waits so long for the sender's last before it turns to something else, ns: as long as that may take. The next message
/// of the same sender cannot be shared before.
const WAIT: u64 = 25_000;

/// With more sends than this under way none is looked for.
const SENDS_MAX: usize = 1024;

/// A receiver's offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub generation: u16,
    /// The sender's name of its memory, as in the message's start.
    pub key: u64,
    /// The bytes: within that memory, and how many.
    pub offset: u64,
    pub len: u64,
    /// Where the receiver wants them.
    pub target: u64,
}

/// An offer that was made to this endpoint.
#[derive(Clone, Copy, Debug)]
struct Help {
    peer: Peer,
    offer: Offer,
    dual_copy: DualCopyOffer,
}

/// A copy of which this end has done its part, and the sender not.
struct Pending {
    pull: PullId,
    want: Want,
    dual_copy: DualCopy,
    /// This end's part has come.
    copied: bool,
    /// The way to a peer that is gone: by it its end is known.
    kept: Option<Box<Shared>>,
}

/// The end of a receive whose memory a sender still has.
enum Held {
    Done(RecvDone),
    Lost(Lost),
}

/// What copies that both ends made have brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DualCopyCounters {
    /// Messages that were offered to their senders.
    pub offered: u64,
    /// Bytes of them that the senders wrote.
    pub received: u64,
    /// Bytes that this endpoint wrote for its receivers.
    pub written: u64,
    /// Senders that could not write.
    pub refused: u64,
}

/// All such copies of an endpoint.
#[derive(Default)]
pub(crate) struct DualCopies {
    pending: Vec<Pending>,
    held: Vec<Held>,
    helps: Vec<Help>,
    pub company: Company,
    /// Nobody is asked for help.
    pub never: bool,
    pub counters: DualCopyCounters,
}

impl DualCopies {
    /// Something is to be looked after at every look.
    pub fn is_busy(&self) -> bool {
        !(self.pending.is_empty() && self.helps.is_empty())
    }

    /// Senders write into memory here.
    pub fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// A sender may be writing to the memory of this receive.
    fn holds(&self, user: u64) -> bool {
        self.pending.iter().any(|pending| pending.want.user == user)
    }

    /// Keeps back the end of a receive if a sender may still write there; false if not.
    pub fn hold_done(&mut self, done: &RecvDone) -> bool {
        let held = done.last && self.holds(done.user);
        if held {
            self.held.push(Held::Done(*done));
        }
        held
    }

    /// The same for one that has failed.
    pub fn hold_lost(&mut self, lost: &Lost) -> bool {
        let held = lost.last && self.holds(lost.user);
        if held {
            self.held.push(Held::Lost(*lost));
        }
        held
    }

    /// The way to a peer is given up; it is kept as long as the peer may write here.
    pub fn keep(&mut self, peer: PeerId, way: Box<Shared>) {
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.want.peer == peer) {
            pending.kept.get_or_insert(way);
        }
    }

    /// A peer is gone: nothing is written for it any more.
    pub fn forget(&mut self, peer: Peer) {
        self.helps.retain(|help| help.peer != peer);
    }
}

impl Core {
    /// A receiver asks for help with a message from here.
    pub fn take_offer(&mut self, peer: Peer, slot: tasuki_ring::Slot, offer: Offer) {
        let dual_copy = DualCopyOffer { slot, generation: offer.generation, len: offer.len };
        // It has no more than one under way.
        self.dual_copies.forget(peer);
        self.dual_copies.helps.push(Help { peer, offer, dual_copy });
    }

    /// Copies a message out of a peer's memory together with the peer. `None`: one end alone does it.
    pub fn pull_by_dual_copy(&mut self, pull: PullId, want: &Want) -> Option<Pulled> {
        if want.len < LEAST
            || self.dual_copies.never
            || self.dual_copies.pending.iter().any(|pending| pending.want.peer == want.peer)
        {
            return None;
        }
        if self.is_taken_from(want.peer) {
            return None;
        }
        let target = self.recvs.get(want.user as usize)?.memory.piece(want.at, want.len)? as u64;
        let Way::Shared(shared) = &mut self.peers.get_mut(want.peer.index())?.way else { return None };
        let open = shared.cma.is_some() && shared.introduced && shared.waiting.is_none() && !shared.refuses;
        if !open || !self.dual_copies.company.has_core() {
            return None;
        }
        let mut dual_copy = DualCopy::begin(&mut shared.outbox, want.len)?;
        let (key, offset, len) = (want.key, want.offset, want.len);
        let offer = Offer { generation: dual_copy.generation(), key, offset, len, target };
        if !shared.outbox.push(OFFER, |bytes| record::offer(&offer, bytes)) {
            return None;
        }
        self.dual_copies.counters.offered += 1;
        let mut copied = true;
        // Claims that cannot be end it, too; `end_of` deals with them.
        while let Ok(Some(part)) = dual_copy.claim(&self.shared(want.peer)?.outbox) {
            // When one part is not to be had the message will come otherwise, but the sender must not claim the rest.
            copied = copied && self.read_part(want, part);
        }
        self.await_sender(want.peer, &dual_copy);
        let pending = Pending { pull, want: *want, dual_copy, copied, kept: None };
        let ended = self.end_of(&pending);
        if ended.is_none() {
            self.dual_copies.pending.push(pending);
        }
        Some(ended.map_or(Pulled::Later, Pulled::Now))
    }

    /// The peer has a long message from here to copy itself, so it has no time for one to here.
    fn is_taken_from(&self, peer: PeerId) -> bool {
        let long =
            |send: &crate::core::SendOp| send.peer.0 as usize == peer.index() && send.memory.len() >= LEAST;
        self.sends.len() > SENDS_MAX || self.sends.iter().any(|(_, send)| long(send))
    }

    /// Gives the sender the time for a part.
    fn await_sender(&self, peer: PeerId, dual_copy: &DualCopy) {
        let Some(shared) = self.shared(peer) else { return };
        let clock = self.dual_copies.company.clock();
        let end = clock.now().0 + WAIT;
        while dual_copy.sender(&shared.outbox) == SendersShare::Awaited && clock.now().0 < end {
            std::hint::spin_loop();
        }
    }

    fn shared(&self, peer: PeerId) -> Option<&Shared> {
        match &self.peers.get(peer.index())?.way {
            Way::Shared(shared) => Some(shared),
            _ => None,
        }
    }

    fn break_with(&mut self, peer: PeerId) {
        let peer = Peer(peer.index() as u32);
        self.broken.push((peer, "what it says of a copy in shared memory cannot be".to_owned()));
    }

    /// Reads some of a message's bytes, counted from the first that are wanted.
    fn read_part(&self, want: &Want, part: std::ops::Range<u64>) -> bool {
        let (offset, at, len) = (want.offset + part.start, want.at + part.start, part.end - part.start);
        self.read_from_peer(&Want { offset, at, len, ..*want })
    }

    /// What came of a copy that is claimed to its end; `None`: the sender has not ended.
    fn end_of(&mut self, pending: &Pending) -> Option<bool> {
        let peer = pending.want.peer;
        let shared = pending.kept.as_deref().or_else(|| self.shared(peer))?;
        match pending.dual_copy.sender(&shared.outbox) {
            SendersShare::Written => {
                // The peer was itself to the end, and not another process with its number.
                let copied = pending.copied && shared.outbox.alive();
                self.dual_copies.counters.received += pending.dual_copy.senders_bytes();
                Some(copied)
            }
            SendersShare::Refused(part) => {
                self.dual_copies.counters.refused += 1;
                if let Some(Way::Shared(shared)) =
                    self.peers.get_mut(peer.index()).map(|state| &mut state.way)
                {
                    shared.refuses = true;
                }
                Some(pending.copied && self.read_part(&pending.want, part))
            }
            // Its process has ended, or its endpoint, and so has what that wrote.
            SendersShare::Awaited | SendersShare::Corrupt if pending.kept.is_some() => {
                (!shared.outbox.alive()).then_some(false)
            }
            SendersShare::Awaited => None,
            SendersShare::Corrupt => {
                self.break_with(peer);
                None
            }
        }
    }

    /// Ends the copies whose senders have ended. True if there was one.
    pub fn end_pulls(&mut self) -> bool {
        let (mut any, mut at) = (false, 0);
        while at < self.dual_copies.pending.len() {
            let pending = self.dual_copies.pending.swap_remove(at);
            match self.end_of(&pending) {
                Some(copied) => {
                    any = true;
                    // Of a message that is lost it knows nothing any more.
                    self.msg.handle_pulled(pending.pull, copied);
                    self.release(pending.want.user);
                }
                None => {
                    self.dual_copies.pending.push(pending);
                    let last = self.dual_copies.pending.len() - 1;
                    self.dual_copies.pending.swap(at, last);
                    at += 1;
                }
            }
        }
        any
    }

    /// Tells of the ends of a receive that were held back, if nobody writes there any more.
    fn release(&mut self, user: u64) {
        if self.dual_copies.holds(user) {
            return;
        }
        let of_it = |held: &mut Held| match held {
            Held::Done(done) => done.user == user,
            Held::Lost(lost) => lost.user == user,
        };
        let ends: Vec<Held> = self.dual_copies.held.extract_if(.., of_it).collect();
        for end in ends {
            match end {
                Held::Done(done) => self.recv_done(&done),
                Held::Lost(lost) => self.recv_failed(lost),
            }
        }
    }

    /// Writes one part of a message for its receiver. `None`: there is nothing more to write.
    fn write_part(&mut self, segment: &Segment, help: &Help) -> Option<u64> {
        let Offer { key, offset, len, target, .. } = help.offer;
        // None but bytes of a message to this peer, that is under way.
        let end = offset.checked_add(len)?;
        let under_way = self.sends.iter().any(|(_, send)| {
            let base = send.memory.contiguous().map(|base| base as u64);
            send.peer == help.peer && send.id.is_some() && base == Some(key) && end <= send.memory.len()
        });
        let Way::Shared(shared) = &self.peers.get(help.peer.0 as usize)?.way else { return None };
        let cma = shared.cma.filter(|_| under_way)?;
        let part = segment.claim_part(&help.dual_copy)?;
        let bytes = part.bytes();
        let (from, size) = (key.wrapping_add(offset).wrapping_add(bytes.start), bytes.end - bytes.start);
        // SAFETY: the part is inside of the offer, which is inside of a send that has not completed and does not while this runs: it can be read and the
        // program leaves it alone. The receiver lives and awaits the part: it cannot be given up before it is ended, below.
        let written = shared.outbox.alive()
            && unsafe { cma.write(target.wrapping_add(bytes.start), from as *const u8, size as usize) }
                .is_ok();
        if !written {
            part.failed();
            return None;
        }
        part.done();
        Some(size)
    }
}

impl State {
    /// Writes a part of a message for its receiver, if nothing else is to be done and there is a processor for both. True if it has.
    pub fn help(&mut self) -> bool {
        let core = &mut self.core;
        if core.dual_copies.helps.is_empty() {
            return false;
        }
        let Some(segment) = &self.segment else { return false };
        if core.sends.len() > SENDS_MAX || !core.dual_copies.company.has_core() {
            core.dual_copies.helps.clear();
            return false;
        }
        // What has come may be what the program waits for.
        if !segment.idle() {
            return false;
        }
        let help = core.dual_copies.helps.remove(0);
        let Some(size) = core.write_part(segment, &help) else { return false };
        core.dual_copies.counters.written += size;
        // Whoever else has asked gets the next turn.
        core.dual_copies.helps.push(help);
        true
    }

    /// As long as a copy that two make is under way, every look is a whole one.
    #[inline]
    pub fn attend(&mut self) {
        if self.core.dual_copies.is_busy() {
            self.look_at_all_next();
        }
    }
}
