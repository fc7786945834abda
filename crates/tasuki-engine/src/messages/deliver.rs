//! What carriers call: frames that have arrived, and payload that is to leave.

use std::num::NonZeroU64;

use tasuki_msg::{Frame, PeerId, Placement, RecvDone, Sink};

use super::Messages;
use crate::memory::{Arrived, Memory};

impl Messages {
    /// A frame has arrived from a peer. Its payload is copied to where the message layer says.
    pub fn deliver(&mut self, from: PeerId, frame: &Frame, payload: &dyn Arrived) {
        if let Frame::Start(start) = frame {
            // A packet that brings an answer often acknowledges what is answered: that completion comes
            // first.
            if self.layer.has_actions() {
                self.run_actions();
            }
            if let Some(done) = self.layer.recv_inline(from, start) {
                return self.received_whole(&done, payload);
            }
        }
        match self.layer.handle_frame(from, frame) {
            Ok(placement) => self.place(placement, payload),
            Err(tasuki_msg::FrameError::PeerGone(_)) => {}
            Err(error) => self.accuse(from.into(), &error.to_string()),
        }
    }

    fn place(&mut self, placement: Placement, payload: &dyn Arrived) {
        let len = placement.len as usize;
        match placement.sink {
            Sink::Nowhere => {}
            Sink::Recv { user, offset, .. } => {
                if let Some(recv) = self.recvs.get(user as usize) {
                    // SAFETY: the message layer names only receives that have not completed.
                    unsafe { recv.memory.write(offset, payload, len) };
                }
            }
            Sink::Early { buffer, size, offset } => {
                self.bounce.write_early(buffer, (size, offset), payload, len)
            }
        }
    }

    /// A whole message has arrived in one frame, and the message layer has matched it to a receive.
    pub fn received_whole(&mut self, done: &RecvDone, payload: &dyn Arrived) {
        let Some(recv) = self.recvs.get(done.user as usize) else { return };
        // SAFETY: the message layer names only receives that have not completed: this one completes below.
        unsafe { recv.memory.write(done.offset, payload, done.len as usize) };
        self.recv_done(done);
    }

    /// Copies payload of a send into a frame. `user` and `offset` are those of the frame's payload.
    pub fn read_payload(&self, user: u64, offset: u64, into: &mut [u8]) {
        if let Some(send) = self.sends.get(user as usize) {
            // SAFETY: a carrier asks only for frames that it has not released, and the message layer
            // completes a send only when all its frames have been released.
            unsafe { send.memory.read(offset, into) };
        }
    }

    /// As [`Messages::read_payload`], for a packet, and has the processor fetch what the packets behind it will
    /// hold.
    pub fn read_packet(&self, user: u64, offset: u64, into: &mut [u8]) {
        self.read_payload(user, offset, into);
        if let Some(send) = self.sends.get(user as usize) {
            send.memory.fetch_ahead(offset, into.len());
        }
    }

    /// A carrier needs the payload of one frame no longer.
    pub fn release_payload(&mut self, user: u64) {
        if let Some(id) = self.sends.get(user as usize).and_then(|send| send.id) {
            self.layer.handle_released(id);
        }
    }

    /// A buffer of `len` bytes for a copy on the way; give it back with [`Messages::recycle`].
    pub fn bounce_buffer(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.bounce.take(len);
        buffer.clear();
        buffer.resize(len, 0);
        buffer
    }

    /// Gives back a buffer of [`Messages::bounce_buffer`].
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        self.bounce.recycle(buffer);
    }

    /// Gives back the memory of a receive of the engine itself.
    pub fn recycle_memory(&mut self, memory: Memory) {
        if let Memory::Own(buffer) = memory {
            self.bounce.recycle(buffer);
        }
    }

    /// Delivers the frames that the endpoint has for itself, which is the peer `own`.
    pub fn loop_back(&mut self, own: PeerId) {
        while let Some(transmit) = self.layer.poll_transmit(own, NonZeroU64::MAX) {
            let Some(payload) = transmit.payload else {
                self.deliver(own, &transmit.frame, &[].as_slice());
                continue;
            };
            let mut bytes = self.bounce_buffer(payload.len as usize);
            self.read_payload(payload.user, payload.offset, &mut bytes);
            self.deliver(own, &transmit.frame, &bytes.as_slice());
            self.recycle(bytes);
            self.release_payload(payload.user);
            // Copies that the message layer asks for come before the next frame may reuse a buffer.
            self.run_actions();
        }
    }
}
