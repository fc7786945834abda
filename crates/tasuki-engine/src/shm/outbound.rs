//! The sending side of shared memory: the ring in one peer's segment.

use std::num::NonZeroU64;

use tasuki_msg::{PeerId, Start, Transmit};
use tasuki_ring::{Cma, Outbox};
use tasuki_tuning::shm;

use super::control::{self, INTRODUCTION};
use super::record::{self, HEAD};
use crate::address::Address;
use crate::api::SendArgs;
use crate::memory::copy_pieces;
use crate::messages::Messages;

/// How this endpoint reaches one peer on the same host.
pub(crate) struct Outbound {
    pub outbox: Outbox,
    /// The permission to read and write the peer's memory (`process_vm_readv`), if the kernel gives it.
    pub cma: Option<Cma>,
    /// The peer has been told who writes into this ring: the first record does it.
    pub(super) introduced: bool,
    /// A frame that was taken from the message layer when the ring was full. It goes before all others.
    pub(super) waiting: Option<Transmit>,
    /// The peer could not write into this process's memory, so it is not asked to again.
    pub(super) refuses_dual_copy: bool,
}

impl Outbound {
    pub fn new(outbox: Outbox) -> Outbound {
        let cma = Cma::probe(&outbox);
        Outbound { outbox, cma, introduced: false, waiting: None, refuses_dual_copy: false }
    }

    /// Whether a record pushed now would neither overtake a frame nor be one from a stranger. The only answer
    /// to "may it go now?" for shared memory, besides the room that the ring itself has.
    #[inline(always)]
    pub(super) fn is_clear(&self) -> bool {
        self.introduced && self.waiting.is_none()
    }

    /// Most payload that one record may carry, bytes.
    pub fn payload_max(&self) -> u64 {
        self.outbox.max_record().saturating_sub(HEAD).min(shm::RECORD_PAYLOAD_MAX) as u64
    }

    /// Pushes the frames that the message layer has for the peer until there are none (true) or the ring is
    /// full (false).
    pub(super) fn push_frames(
        &mut self,
        id: PeerId,
        (from, to): (&Address, &Address),
        messages: &mut Messages,
    ) -> bool {
        if !self.introduce(from, to) || self.outbox.is_shut() {
            // If the peer is gone, the liveness check declares it failed; until then nothing is lost that
            // could be saved.
            return false;
        }
        let Some(room) = NonZeroU64::new(self.payload_max()) else { return false };
        loop {
            let waiting = self.waiting.take();
            let Some(transmit) = waiting.or_else(|| messages.layer_mut().poll_transmit(id, room)) else {
                return true;
            };
            if !self.push_frame(&transmit, messages) {
                self.waiting = Some(transmit);
                return false;
            }
            if let Some(payload) = transmit.payload {
                messages.release_payload(payload.user);
            }
        }
    }

    fn push_frame(&mut self, transmit: &Transmit, messages: &Messages) -> bool {
        let len = transmit.payload.map_or(0, |payload| payload.len as usize);
        let head = record::head(&transmit.frame);
        self.outbox.push(head + len, |bytes| {
            let (head, body) = bytes.split_at_mut(head);
            record::write(&transmit.frame, head);
            if let Some(payload) = transmit.payload {
                messages.read_payload(payload.user, payload.offset, body);
            }
        })
    }

    fn introduce(&mut self, from: &Address, to: &Address) -> bool {
        if !self.introduced {
            self.introduced = self.outbox.push(INTRODUCTION, |bytes| control::introduce(from, to, bytes));
        }
        self.introduced
    }

    /// Pushes the first frame of a message with its whole payload, for which the caller has found room.
    ///
    /// # Safety
    /// The buffers of `args` can be read.
    #[cold]
    pub(super) unsafe fn push_start(outbox: &mut Outbox, start: Start, args: SendArgs<'_>) {
        let head = record::start_head(&start);
        // SAFETY: as the caller promises; the ring overlaps nobody's buffer.
        let pushed = outbox
            .push(head + start.len as usize, |bytes| unsafe { write_start(bytes, head, &start, &args) });
        debug_assert!(pushed, "the caller has found room");
    }
}

/// Writes a message's first frame, of which the head has `head` bytes, with its whole payload.
///
/// # Safety
/// The buffers of `args` can be read and do not overlap `bytes`.
pub(super) unsafe fn write_start(bytes: &mut [u8], head: usize, start: &Start, args: &SendArgs<'_>) {
    let (head, body) = bytes.split_at_mut(head);
    record::write_start(start, head);
    // SAFETY: as the caller promises.
    unsafe { copy_pieces(args.buffers, body) };
}
