//! Control messages between two engines about length-coded bulk and streams. They travel on the internal
//! queue, so they are delivered once, in order, and only by peers that know this endpoint's address; programs
//! do not see them.

use tasuki_msg::{Matching, Queue, Source};

use super::Messages;
use super::ops::{Internal, RecvOp};
use crate::api::Peer;
use crate::memory::Memory;
use crate::peers::Peers;

/// Tag of control messages on the internal queue. Those of one-sided transfers have other upper bits: see
/// [`crate::rma`].
pub(crate) const CONTROL_TAG: u64 = 3 << 62;

impl Messages {
    /// Sends a control message.
    pub fn send_control(&mut self, peers: &Peers, to: Peer, bytes: Vec<u8>) {
        self.send_internal(peers, to, (CONTROL_TAG, None), Memory::Own(bytes), Internal::Unattended);
    }

    /// Messages on the internal queue wait for the engine.
    #[inline]
    pub fn has_internal_messages(&self) -> bool {
        self.layer.unexpected(Queue::Internal) > 0
    }

    /// Receives all control messages that have arrived. Each one's end is a duty. True if there was one.
    pub fn receive_control(&mut self) -> bool {
        self.receive_internal(CONTROL_TAG, tasuki_bulk::CONTROL_MESSAGE_MAX as u64, |_| Internal::Control)
    }

    /// Receives all messages of the internal queue with this tag into memory of their own, as operations that
    /// `internal` names by the sender. A message of more than `max` bytes is a violation. True if there was
    /// one.
    pub fn receive_internal(
        &mut self,
        tag: u64,
        max: u64,
        mut internal: impl FnMut(Peer) -> Internal,
    ) -> bool {
        if !self.has_internal_messages() {
            return false;
        }
        let wanted = Matching { queue: Queue::Internal, source: Source::Any, tag, ignore: 0 };
        let mut any = false;
        while let Some((claim, found)) = self.layer.claim(&wanted) {
            any = true;
            let source = Peer::from(found.source);
            if found.len > max {
                // The claim was made just now, so it is valid.
                let _ = self.layer.discard_claimed(claim);
                self.accuse(source, "a message between the engines is too long");
                continue;
            }
            let memory = Memory::Own(self.bounce_buffer(found.len as usize));
            let op = RecvOp::internal(memory, internal(source));
            // The claim was made just now, so it is valid.
            let _ = self.post_recv(op, |layer, user| layer.recv_claimed(claim, found.len, user));
        }
        any
    }
}
