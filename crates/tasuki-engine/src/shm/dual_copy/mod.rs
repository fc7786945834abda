//! Dual copy: a long message inside a host is copied by both ends (`tasuki_ring::DualCopy`, decision 7 of
//! `docs/adr`).
//!
//! The receiver of a long message begins to read it out of the sender's memory, and tells the sender by a
//! record in its ring. A sender that polls and has nothing else to do then writes the other end of the
//! message into the receiver's memory. A sender that does not poll, or has no processor of its own, is not
//! waited for: the receiver copies whatever nobody has claimed.
//!
//! The memory of the receive stays lent ([`Messages::lend`]) until the sender has written what it has
//! claimed, has said that it cannot, or is gone with all its threads: whatever becomes of the message, the
//! program gets its memory back only then.

mod sender;

use tasuki_ring::{DualCopy, DualCopyOffer, SendersShare, Slot};
use tasuki_tuning::dual_copy;

use super::Shm;
use super::control::{self, COPY_REQUEST, CopyRequest};
use super::kernel_copy;
use super::outbound::Outbound;
use crate::api::Peer;
use crate::messages::{Messages, PullJob};
use crate::wait::oversubscription::Oversubscription;

/// A request that this endpoint, the sender of a message, has received.
#[derive(Clone, Copy, Debug)]
struct Accepted {
    peer: Peer,
    request: CopyRequest,
    offer: DualCopyOffer,
}

/// A copy of which this endpoint, the receiver, has done its part, and the sender has not.
struct Pending {
    job: PullJob,
    base: u64,
    copy: DualCopy,
    /// This end's part has been read.
    copied: bool,
    /// The ring to a sender that is gone as a peer, kept because it tells when the process has ended.
    kept: Option<Box<Outbound>>,
}

/// What dual copies have brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DualCopyCounters {
    /// Messages whose senders were asked to copy a part.
    pub offered: u64,
    /// Bytes of them that the senders wrote.
    pub received: u64,
    /// Bytes that this endpoint wrote for its receivers.
    pub written: u64,
    /// Senders that could not write.
    pub refused: u64,
}

/// All dual copies of an endpoint.
#[derive(Default)]
pub(crate) struct DualCopies {
    pending: Vec<Pending>,
    accepted: Vec<Accepted>,
    /// No sender is ever asked (`TASUKI_SENDER_COPIES=never`).
    never: bool,
    counters: DualCopyCounters,
}

/// What has become of a pull from a peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pulled {
    /// It is over. False: the bytes could not be read.
    Now(bool),
    /// The sender is still writing; [`Shm::end_pulls`] tells the message layer.
    Later,
}

impl DualCopies {
    pub fn new(never: bool) -> DualCopies {
        DualCopies { never, ..DualCopies::default() }
    }

    /// A receiver asks for a part of a message from here. It has at most one copy under way.
    pub(super) fn accept(&mut self, peer: Peer, slot: Slot, request: CopyRequest) {
        let offer = DualCopyOffer { slot, generation: request.generation, len: request.len };
        self.forget_requests(peer);
        self.accepted.push(Accepted { peer, request, offer });
    }

    /// A peer is gone, or asks for something else: nothing more is written for its last request.
    pub(super) fn forget_requests(&mut self, peer: Peer) {
        self.accepted.retain(|accepted| accepted.peer != peer);
    }

    /// The ring to a peer is given up. It is kept as long as the peer may write into memory here.
    pub(super) fn keep_outbound(&mut self, peer: Peer, outbound: Box<Outbound>) {
        let of_peer = |pending: &&mut Pending| Peer::from(pending.job.from) == peer;
        if let Some(pending) = self.pending.iter_mut().find(of_peer) {
            pending.kept.get_or_insert(outbound);
        }
    }

    fn is_receiving_from(&self, peer: Peer) -> bool {
        self.pending.iter().any(|pending| Peer::from(pending.job.from) == peer)
    }
}

/// The receiver's end.
impl Shm {
    /// Whether senders may be writing into memory here.
    #[inline]
    pub fn has_pending_copies(&self) -> bool {
        !self.dual_copies.pending.is_empty()
    }

    /// Whether a dual copy is under way at either end, so that every poll should be a full one.
    #[inline]
    pub fn is_copying(&self) -> bool {
        !(self.dual_copies.pending.is_empty() && self.dual_copies.accepted.is_empty())
    }

    pub fn dual_copy_counters(&self) -> DualCopyCounters {
        self.dual_copies.counters
    }

    /// Fetches bytes that begin at `base + job.offset` in the sender's memory.
    pub fn pull(
        &mut self,
        job: &PullJob,
        base: u64,
        messages: &mut Messages,
        processors: &mut Oversubscription,
    ) -> Pulled {
        match self.pull_by_dual_copy(job, base, messages, processors) {
            Some(pulled) => pulled,
            None => Pulled::Now(self.read(job, base, messages)),
        }
    }

    /// Copies a message out of the sender's memory together with the sender. `None`: this end has to do it
    /// alone.
    fn pull_by_dual_copy(
        &mut self,
        job: &PullJob,
        base: u64,
        messages: &mut Messages,
        processors: &mut Oversubscription,
    ) -> Option<Pulled> {
        let peer = Peer::from(job.from);
        let unsuitable = job.len < dual_copy::LENGTH_MIN
            || self.dual_copies.never
            || self.dual_copies.is_receiving_from(peer)
            || is_busy_copying(peer, messages);
        if unsuitable {
            return None;
        }
        let target = messages.memory_for(job)?.piece(job.at, job.len)? as u64;
        let now = self.now();
        let outbound = self.outbound_mut(peer)?;
        let open = outbound.cma.is_some() && outbound.is_clear() && !outbound.refuses_dual_copy;
        if !open || !processors.has_spare_processor(now) {
            return None;
        }
        let mut copy = DualCopy::begin(&mut outbound.outbox, job.len)?;
        let (generation, offset, len) = (copy.generation(), job.offset, job.len);
        let request = CopyRequest { generation, base, offset, len, target };
        if !outbound.outbox.push(COPY_REQUEST, |bytes| control::write_request(&request, bytes)) {
            return None;
        }
        self.dual_copies.counters.offered += 1;
        messages.lend(job.user);
        let mut copied = true;
        // An error of `claim` means corrupt memory; `outcome` deals with it.
        while let Ok(Some(part)) = copy.claim(&self.outbound(peer)?.outbox) {
            // If a part cannot be read the message will come in frames, but the sender must not claim the
            // rest.
            copied = copied && self.read_part(job, base, part, messages);
        }
        self.wait_for_sender(peer, &copy);
        let pending = Pending { job: *job, base, copy, copied, kept: None };
        let Some(copied) = self.outcome(&pending, messages) else {
            self.dual_copies.pending.push(pending);
            return Some(Pulled::Later);
        };
        messages.take_back(job.user);
        Some(Pulled::Now(copied))
    }

    /// Gives the sender the time for its last part.
    fn wait_for_sender(&self, peer: Peer, copy: &DualCopy) {
        let Some(outbound) = self.outbound(peer) else { return };
        let end = self.now().0 + dual_copy::SENDER_WAIT_NS;
        while copy.sender(&outbound.outbox) == SendersShare::Awaited && self.now().0 < end {
            std::hint::spin_loop();
        }
    }

    /// Reads a part of what a job wants, counted from the first byte that it wants.
    fn read_part(&self, job: &PullJob, base: u64, part: std::ops::Range<u64>, messages: &Messages) -> bool {
        let (offset, at, len) = (job.offset + part.start, job.at + part.start, part.end - part.start);
        self.read(&PullJob { offset, at, len, ..*job }, base, messages)
    }

    /// Copies out of the sender's memory. False if the kernel does not let us, if the receive is over, or if
    /// the peer is gone: then its program may have used the memory for something else by now.
    fn read(&self, job: &PullJob, base: u64, messages: &Messages) -> bool {
        let Some(outbound) = self.outbound(job.from.into()) else { return false };
        let (Some(cma), Some(memory)) = (outbound.cma, messages.memory_for(job)) else { return false };
        let address = base.wrapping_add(job.offset);
        let (mut done, mut whole) = (0u64, true);
        memory.walk(job.at, job.len as usize, |ptr, size| {
            let mut inside = 0;
            while whole && inside < size {
                let take = (size - inside).min(dual_copy::READ_MAX);
                // SAFETY: `walk` stays inside of the receive's memory, which is ours as long as the receive
                // is under way. Nobody else looks at it meanwhile: the program gave it away, carriers place
                // only what was granted, and the sender of a dual copy writes only what it has claimed.
                let into = unsafe { std::slice::from_raw_parts_mut(ptr.add(inside), take) };
                whole = kernel_copy::read(cma, address.wrapping_add(done), into).is_ok();
                inside += take;
                done += take as u64;
            }
        });
        whole && done == job.len && !outbound.outbox.is_shut()
    }

    /// What has become of a copy of which everything is claimed: whether the bytes are there, or `None` if
    /// the sender has not ended.
    fn outcome(&mut self, pending: &Pending, messages: &mut Messages) -> Option<bool> {
        let peer = Peer::from(pending.job.from);
        let outbound = pending.kept.as_deref().or_else(|| self.outbound(peer))?;
        match pending.copy.sender(&outbound.outbox) {
            SendersShare::Written => {
                // The peer was itself to the end, and not another process that got its process id.
                let copied = pending.copied && outbound.outbox.alive();
                self.dual_copies.counters.received += pending.copy.senders_bytes();
                Some(copied)
            }
            SendersShare::Refused(part) => {
                self.dual_copies.counters.refused += 1;
                if let Some(outbound) = self.outbound_mut(peer) {
                    outbound.refuses_dual_copy = true;
                }
                Some(pending.copied && self.read_part(&pending.job, pending.base, part, messages))
            }
            // The peer's process has ended, or its endpoint: nobody writes any more.
            SendersShare::Awaited | SendersShare::Corrupt if pending.kept.is_some() => {
                (!outbound.outbox.alive()).then_some(false)
            }
            SendersShare::Awaited => None,
            SendersShare::Corrupt => {
                messages.accuse(peer, "what it says of a dual copy in shared memory cannot be");
                None
            }
        }
    }

    /// Ends the copies whose senders have ended. True if there was one.
    pub fn end_pulls(&mut self, messages: &mut Messages) -> bool {
        let (mut ended, mut at) = (false, 0);
        while at < self.dual_copies.pending.len() {
            let pending = self.dual_copies.pending.swap_remove(at);
            let Some(copied) = self.outcome(&pending, messages) else {
                // Back to its place, so that the others keep their order.
                self.dual_copies.pending.push(pending);
                let last = self.dual_copies.pending.len() - 1;
                self.dual_copies.pending.swap(at, last);
                at += 1;
                continue;
            };
            ended = true;
            // The message layer ignores a pull of a message that is lost.
            messages.layer_mut().handle_pulled(pending.job.pull, copied);
            messages.take_back(pending.job.user);
        }
        ended
    }
}

/// Whether the peer has a long message from here to copy itself, so that it has no time for one to here.
fn is_busy_copying(peer: Peer, messages: &Messages) -> bool {
    messages.sends_under_way() > dual_copy::SENDS_MAX || messages.is_sending_long(peer, dual_copy::LENGTH_MIN)
}
