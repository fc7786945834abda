//! Messages between two engines: those of one-sided transfers ([`crate::rma`]), and control messages about
//! length-coded bulk and streams. They travel on the internal queue, so they are delivered once, in order,
//! and only by peers that know this endpoint's address; programs do not see them.

use tasuki_msg::{Matching, PeerId, Queue, RecvRequest, SendRequest, Source};

use super::Messages;
use super::in_order::InOrder;
use super::ops::{Internal, RecvOp, SendOp};
use crate::api::Peer;
use crate::memory::Memory;
use crate::peers::{Peers, Route};
use crate::rendezvous::keys::RendezvousKey;

/// Tag of control messages on the internal queue. Those of one-sided transfers have other upper bits: see
/// [`crate::rma`].
pub(crate) const CONTROL_TAG: u64 = 3 << 62;

impl Messages {
    /// Sends a control message.
    pub fn send_control(&mut self, peers: &Peers, to: Peer, bytes: Vec<u8>) {
        self.send_internal(peers, to, (CONTROL_TAG, None), Memory::Own(bytes), Internal::Unattended);
    }

    /// Sends a message of the engine itself on the internal queue. It may be fetched from this process's
    /// memory if the peer is on this host.
    pub fn send_internal(
        &mut self,
        peers: &Peers,
        peer: Peer,
        (tag, data): (u64, Option<u64>),
        memory: Memory,
        internal: Internal,
    ) {
        let Some(record) = peers.get(peer) else { return };
        let shm = record.route == Route::Shm;
        let remote_key =
            memory.contiguous().filter(|_| shm).map(|at| RendezvousKey::Memory(at as u64).encode());
        let len = memory.len();
        if let Memory::Own(_) = memory {
            self.copied += len;
        }
        let (queue, delivery) = (Queue::Internal, false);
        let request = SendRequest { peer: record.id, queue, tag, data, len, delivery, remote_key, user: 0 };
        // The only error is an unknown peer, and this one is known.
        let _ = self.post_send(SendOp::internal(peer, memory, internal), request);
    }

    /// Receives a message of the engine itself from one peer.
    pub fn recv_internal(&mut self, source: PeerId, tag: u64, memory: Memory, internal: Internal) {
        let capacity = memory.len();
        let source = Source::Peer(source);
        let matching = Matching { queue: Queue::Internal, source, tag, ignore: 0 };
        let request = |user| RecvRequest { matching, capacity, multi: None, user };
        // The only error is an unknown peer, and this one is known.
        let _ =
            self.post_recv(RecvOp::internal(memory, internal), |layer, user| layer.post_recv(request(user)));
    }

    /// Messages on the internal queue wait for the engine.
    #[inline]
    pub fn has_internal_messages(&self) -> bool {
        self.layer.unexpected(Queue::Internal) > 0
    }

    /// Receives all control messages that have arrived. Each one's end is a duty. True if there was one.
    pub fn receive_control(&mut self) -> bool {
        let max = tasuki_bulk::CONTROL_MESSAGE_MAX as u64;
        self.receive_internal(CONTROL_TAG, max, |own, from| Internal::Control(own.control.matched(from)))
    }

    /// The control messages of all peers, in order.
    pub fn control_mut(&mut self) -> &mut InOrder {
        &mut self.control
    }

    /// Receives all messages of the internal queue with this tag into memory of their own, as operations that
    /// `internal` names by the sender. A message of more than `max` bytes is a violation. True if there was
    /// one.
    pub fn receive_internal(
        &mut self,
        tag: u64,
        max: u64,
        mut internal: impl FnMut(&mut Messages, Peer) -> Internal,
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
            let internal = internal(self, source);
            let op = RecvOp::internal(memory, internal);
            // The claim was made just now, so it is valid.
            let _ = self.post_recv(op, |layer, user| layer.recv_claimed(claim, found.len, user));
        }
        any
    }
}
