//! What carriers call: frames that have arrived, and payload that is to leave.

use std::num::NonZeroU64;

use tasuki_msg::{Data, Frame, FrameError, MsgSeq, Outlook, Pacer, PeerId, Placement, RecvDone, Sink, Start};
use tasuki_proto::{Outgoing, Payload};
use tasuki_tuning::{sends, streams};

use super::ops::SendOp;
use super::pushes::{Piece, Push};
use super::speeds::Speeds;
use super::{Duty, Messages, PullJob};
use crate::api::Peer;
use crate::memory::{Arrived, Memory};
use crate::peers::Route;

/// Longest piece of a message to a peer to which there is a stream, bytes.
const WHOLE: NonZeroU64 = NonZeroU64::new(streams::WHOLE_MAX).unwrap();
/// Longest piece of a message to this endpoint itself, bytes: what a buffer has that is kept for reuse. What
/// is granted at a time may be all of the message, and a copy of that would take as much memory again.
const LOOPED: NonZeroU64 = NonZeroU64::new(sends::POOLED_BYTES as u64).unwrap();

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
            if self.pushes.any_open() && start.early > start.inline {
                let (offset, len) = (start.inline, start.early - start.inline);
                self.pushes.announced(from.into(), Data { seq: start.seq, offset, len, early: start.early });
            }
        }
        match self.layer.handle_frame(from, frame) {
            Ok(placement) => self.place(placement, payload),
            // The first frame of a message comes twice if its sender could not know whether a stream that is
            // over had delivered it.
            Err(FrameError::PeerGone(_) | FrameError::DuplicateStart(_)) => {}
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

    /// The send that the message layer knows by this number, if it is not over.
    #[inline(always)]
    pub fn send_of(&self, user: u64) -> Option<&SendOp> {
        self.sends.get(user as u32 as usize).filter(|send| u64::from(send.generation) == user >> 32)
    }

    /// Copies payload of a send into a frame. `user` and `offset` are those of the frame's payload.
    pub fn read_payload(&self, user: u64, offset: u64, into: &mut [u8]) {
        if let Some(send) = self.send_of(user) {
            // SAFETY: a carrier asks only for frames that it has not released, and the message layer
            // completes a send only when all its frames have been released.
            unsafe { send.memory.read(offset, into) };
        }
    }

    /// As [`Messages::read_payload`], for a packet, and has the processor fetch what the packets behind it
    /// will hold.
    pub fn read_packet(&self, user: u64, offset: u64, into: &mut [u8]) {
        self.read_payload(user, offset, into);
        if let Some(send) = self.send_of(user) {
            send.memory.fetch_ahead(offset, into.len());
        }
    }

    /// A carrier needs the payload of one frame no longer. The send may be over for long: that to a peer that
    /// has said goodbye ends before the last acknowledgement comes.
    pub fn release_payload(&mut self, user: u64) {
        if let Some(id) = self.send_of(user).and_then(|send| send.id) {
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
        while let Some(transmit) = self.layer.poll_transmit(own, LOOPED) {
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

    /// From now on another process may write to the memory of a receive: its end is held back.
    pub fn lend(&mut self, user: u64) {
        self.lent.lend(user);
    }

    /// The other process has ended: ends that were held back are told.
    pub fn take_back(&mut self, user: u64) {
        for end in self.lent.take_back(user) {
            self.recv_ended(end);
        }
    }
}

/// What streams call, and the packet layer in their stead.
impl Messages {
    /// There is a stream to the peer, by which pieces of messages from a length on go, or it is over.
    pub fn set_stream(&mut self, id: PeerId, push_min: Option<u64>) {
        if self.pushes.set_stream(id.into(), push_min) {
            // An error means that the peer was forgotten: then nothing is sent to it.
            let _ = self.layer.set_whole_max(id, if push_min.is_some() { streams::WHOLE_MAX } else { 0 });
        }
    }

    /// What most likely comes next by the peer's stream; each is given once, unless it is given back.
    pub fn next_announced(&mut self, peer: Peer) -> Option<Data> {
        self.pushes.next_announced(peer)
    }

    /// This was given by [`Messages::next_announced`] and has not come yet.
    pub fn still_announced(&mut self, peer: Peer, data: Data) {
        self.pushes.still_announced(peer, data);
    }

    /// Bytes of a message are arriving by the peer's stream.
    pub fn arriving(&mut self, peer: Peer, seq: MsgSeq) {
        self.pushes.arriving(peer, seq);
    }

    /// A send is posted. True if its speed tells something of the cable to the peer.
    pub fn begin_measuring(&mut self, peer: Peer, len: u64, route: Route) -> bool {
        let measured = matches!(route, Route::Net(_)) && Speeds::measures(len) && !self.pushes.is_open(peer);
        if measured {
            self.speeds.begin(peer, self.clock.now());
        }
        measured
    }

    /// Whether many messages went to the peer in packets, most of them faster than a slow cable carries them.
    pub fn is_fast(&self, peer: Peer) -> bool {
        self.speeds.is_fast(peer)
    }

    /// What is to come.
    #[inline(always)]
    pub fn outlook(&self) -> Outlook<'_, Pacer> {
        Outlook(&self.layer)
    }

    /// Whether there is a stream to any peer.
    #[inline(always)]
    pub fn has_streams(&self) -> bool {
        self.pushes.any_open()
    }

    /// Whether a peer has turned out to be fast since this was last asked.
    #[inline(always)]
    pub fn take_fast_news(&mut self) -> bool {
        self.speeds.take_news()
    }

    /// Whether pieces of messages are to come, perhaps by stream. Costs a load where there is no stream.
    #[inline(always)]
    pub fn awaits_streams(&self) -> bool {
        self.pushes.any_open() && self.outlook().awaited() > 0
    }

    /// The next frame for the packet layer, with at most `room` bytes. Pieces that go by stream are kept for
    /// [`Messages::next_push`].
    pub fn next_frame(&mut self, id: PeerId, room: NonZeroU64) -> Option<Outgoing> {
        let peer = Peer::from(id);
        if let Some(owed) = self.pushes.next_owed(peer) {
            return Some(owed);
        }
        // Pieces that go by stream are not cut to what packets like.
        let room = if self.pushes.is_open(peer) { room.max(WHOLE) } else { room };
        loop {
            let transmit = self.layer.poll_transmit(id, room)?;
            match (transmit.frame, transmit.payload) {
                (Frame::Data(data), Some(place)) if self.pushes.takes(peer, &data) => {
                    self.pushes.give(peer, Piece::Data(data), place, self.clock.now());
                }
                (Frame::Start(start), Some(place)) if self.takes_start(peer, &start) => {
                    self.pushes.give(peer, Piece::Start(start), place, self.clock.now());
                }
                (frame, place) => {
                    let payload = place.map(|at| Payload { key: at.user, offset: at.offset, len: at.len });
                    return Some(tasuki_frames::outgoing(&frame, payload));
                }
            }
        }
    }

    fn takes_start(&self, peer: Peer, start: &Start) -> bool {
        self.pushes.any_open()
            && start.inline < start.early
            && self.pushes.takes_start(peer, start, self.clock.now())
    }

    /// Whether pieces wait for their streams.
    #[inline(always)]
    pub fn has_pushes(&self) -> bool {
        self.pushes.has_given()
    }

    /// The next piece that waits for its stream.
    pub fn next_push(&mut self) -> Option<(Peer, Push)> {
        self.pushes.next_given()
    }

    /// A piece has arrived at the peer's host, or never will.
    pub fn release_push(&mut self, push: &Push) {
        self.layer.handle_released(push.send);
    }

    /// A piece goes to the peer in packets after all.
    pub fn owe_push(&mut self, peer: Peer, push: Push) {
        self.pushes.owe(peer, push);
        self.duties.push_back(Duty::Resend(peer));
    }

    /// The peer is gone: all pieces for it are given back.
    pub fn forget_pushes(&mut self, peer: Peer) {
        self.pushes.forget(peer).iter().for_each(|push| self.layer.handle_released(push.send));
    }

    /// A frame has arrived from a peer whose payload is where it belongs already.
    pub fn delivered(&mut self, from: PeerId, frame: &Frame) {
        match self.layer.handle_frame(from, frame) {
            Ok(_) | Err(FrameError::PeerGone(_)) => {}
            Err(error) => self.accuse(from.into(), &error.to_string()),
        }
    }

    /// Address of bytes of a receive's memory, if they are in one piece.
    pub fn recv_piece(&self, user: u64, offset: u64, len: u64) -> Option<*mut u8> {
        self.recvs.get(user as usize)?.memory.piece(offset, len)
    }

    /// Writes bytes of a pull, of which `done` are there. `None` if the receive is over.
    pub fn write_pulled(&self, job: &PullJob, done: u64, bytes: &[u8]) -> Option<()> {
        let memory = self.memory_for(job)?;
        // SAFETY: the receive is under way, so that its memory is ours to write.
        unsafe { memory.write(job.at + done, &bytes, bytes.len()) };
        Some(())
    }
}
