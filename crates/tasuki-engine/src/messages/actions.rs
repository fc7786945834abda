//! Carrying out what the message layer asks for: copies out of bounce buffers, ends of operations, and duties
//! for the engine.

use tasuki_msg::{Action, Event, Failure, PeerId, PullId, RecvDone, RecvId};

use super::lent::{RecvEnd, RecvFailed};
use super::ops::{Internal, SendOp};
use super::{Messages, translate};
use crate::api::{Completion, Peer, Report};
use crate::memory::Memory;
use crate::rendezvous::keys::RendezvousKey;

/// Bytes of a peer's message that the message layer wants fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PullJob {
    /// The message layer's name of the pull, for `handle_pulled`.
    pub pull: PullId,
    pub from: PeerId,
    /// Where the message can be fetched.
    pub key: RendezvousKey,
    /// First byte wanted, counted from the beginning of the message.
    pub offset: u64,
    pub len: u64,
    /// Key and identity of the receive: the key alone may be another receive's by the time that the bytes are
    /// there.
    pub user: u64,
    pub recv: RecvId,
    /// Place of the first byte in the receive's memory.
    pub at: u64,
}

/// Something that only the engine can do, as it needs carriers or other parts.
pub(crate) enum Duty {
    /// Fetch bytes of a peer's message.
    Pull(PullJob),
    /// A send of another part of the engine is over.
    SendEnded(Internal, Result<(), Failure>),
    /// A receive of another part of the engine is over; its memory is given back.
    RecvEnded(Internal, Result<RecvDone, (PeerId, Failure)>, Memory),
    /// The message layer has declared the peer gone: it has said goodbye, or was said goodbye to.
    Parted(Peer),
    /// A stream owes the peer pieces of messages, which go in packets.
    Resend(Peer),
    /// The peer broke the protocol.
    Violation(Peer, String),
}

impl Messages {
    /// The next duty of the engine, the oldest first.
    #[inline(always)]
    pub fn next_duty(&mut self) -> Option<Duty> {
        self.duties.pop_front()
    }

    /// Does all that the message layer asks for, in its order. True if there was something.
    pub fn run_actions(&mut self) -> bool {
        let mut any = false;
        while let Some(action) = self.layer.poll_action() {
            any = true;
            match action {
                Action::Copy { from, user, offset, len, .. } => {
                    let bytes = self.bounce.early(from);
                    let bytes = &bytes[..bytes.len().min(len as usize)];
                    if let Some(recv) = self.recvs.get(user as usize) {
                        // SAFETY: the receive has not completed: its completion comes after this action.
                        unsafe { recv.memory.write(offset, &bytes, bytes.len()) };
                    }
                }
                Action::FreeEarly(buffer) => self.bounce.free_early(buffer),
                Action::Pull { pull, peer, remote_key, offset, len, user, at, recv } => {
                    let key = RendezvousKey::decode(remote_key);
                    self.duties.push_back(Duty::Pull(PullJob {
                        pull,
                        from: peer,
                        key,
                        offset,
                        len,
                        user,
                        recv,
                        at,
                    }));
                }
                Action::Event(event) => self.handle_event(event),
            }
        }
        any
    }

    fn handle_event(&mut self, event: Event) {
        match event {
            Event::SendDone { user, result, .. } => self.send_ended(user, result),
            Event::RecvDone(done) => self.recv_done(&done),
            Event::RecvFailed { user, failure, last, .. } => {
                let end = RecvEnd::Failed(RecvFailed { user, failure, last });
                if self.lent.is_empty() || !self.lent.hold(end) {
                    self.recv_ended(end);
                }
            }
            Event::PeerGone { peer, .. } => self.duties.push_back(Duty::Parted(peer.into())),
            Event::Quiesced { .. } => {}
        }
    }

    /// A peer broke the protocol. The engine will declare it failed when no carrier is at work.
    pub fn accuse(&mut self, peer: Peer, reason: &str) {
        self.duties.push_back(Duty::Violation(peer, reason.to_owned()));
    }

    fn send_ended(&mut self, user: u64, result: Result<(), Failure>) {
        if self.send_of(user).is_none() {
            return;
        }
        let send = self.sends.remove(user as u32 as usize);
        let (context, peer, tagged) = (send.context, send.peer, send.tagged);
        if let Some(key) = send.key {
            self.keys.remove(key);
        }
        if send.measured {
            self.speeds.end(peer, send.memory.len(), result.is_ok(), self.clock.now());
        }
        if let Memory::Own(buffer) = send.memory {
            self.copied = self.copied.saturating_sub(buffer.len() as u64);
            self.bounce.recycle(buffer);
        }
        match (send.internal, result) {
            (Some(Internal::Unattended), _) => {}
            (Some(internal), result) => self.duties.push_back(Duty::SendEnded(internal, result)),
            // The program was told when its bytes were copied.
            (None, _) if send.reported => {}
            (None, Ok(())) => self.completions.push_sent(send.report, context, peer, tagged),
            (None, Err(failure)) => self.completions.push(Completion::Error {
                context,
                tagged,
                send: true,
                failure: translate(failure),
                peer: Some(peer),
                last: true,
                multi: false,
                quiet: send.report != Report::Completion,
            }),
        }
    }

    /// A message has been received completely.
    pub fn recv_done(&mut self, done: &RecvDone) {
        if !self.lent.is_empty() && self.lent.hold(RecvEnd::Done(*done)) {
            return;
        }
        self.complete_recv(done);
    }

    /// Tells of the end of a receive to whose memory no other process writes any more.
    pub fn recv_ended(&mut self, end: RecvEnd) {
        match end {
            RecvEnd::Done(done) => self.complete_recv(&done),
            RecvEnd::Failed(failed) => self.fail_recv(failed),
        }
    }

    #[inline(always)]
    fn complete_recv(&mut self, done: &RecvDone) {
        let key = done.user as usize;
        let Some(recv) = self.recvs.get(key) else { return };
        if let Some(internal) = recv.internal {
            return self.end_internal_recv(key, internal, Ok(*done));
        }
        let completion = Completion::Recv {
            context: recv.context,
            source: done.source.into(),
            tagged: recv.tagged,
            tag: done.tag,
            data: done.data,
            ptr: recv.memory.address_of(done.offset),
            len: done.len,
            total: done.total,
            last: done.last,
            multi: recv.multi,
            quiet: recv.report != Report::Completion,
        };
        // The end of a receive of several messages is always told: without it, the program would never post
        // its memory again (fi_msg(3), FI_MULTI_RECV).
        if recv.report != Report::Failure || done.total > done.len || (recv.multi && done.last) {
            self.completions.push(completion);
        }
        if done.last {
            self.recvs.remove(key);
        }
    }

    fn fail_recv(&mut self, failed: RecvFailed) {
        let RecvFailed { user, failure, last } = failed;
        let key = user as usize;
        let Some(recv) = self.recvs.get(key) else { return };
        let peer = match failure {
            Failure::PeerGone(peer, _) => Some(peer),
            Failure::Cancelled => None,
        };
        if let Some(internal) = recv.internal {
            // Receives of the engine itself are never cancelled, so there is always a peer.
            if let Some(peer) = peer {
                self.end_internal_recv(key, internal, Err((peer, failure)));
            }
            return;
        }
        self.completions.push(Completion::Error {
            context: recv.context,
            tagged: recv.tagged,
            send: false,
            failure: translate(failure),
            peer: peer.map(Peer::from),
            last,
            multi: recv.multi,
            quiet: recv.report != Report::Completion,
        });
        if last {
            self.recvs.remove(key);
        }
    }

    fn end_internal_recv(
        &mut self,
        key: usize,
        internal: Internal,
        result: Result<RecvDone, (PeerId, Failure)>,
    ) {
        if let (Internal::Control(_), Err((peer, _))) = (internal, result) {
            // What came behind it has no meaning without it.
            self.control.forget(peer.into());
        }
        if let Some(recv) = self.recvs.extract(key) {
            self.duties.push_back(Duty::RecvEnded(internal, result, recv.memory));
        }
    }
}

/// What rendezvous transports ask about sends before they act on what a peer says.
impl Messages {
    /// Whether a send to `peer` is under way whose contiguous memory begins at `base` and has at least `end`
    /// bytes.
    pub fn is_sending(&self, peer: Peer, base: u64, end: u64) -> bool {
        let covers = |send: &SendOp| {
            let begins = send.memory.contiguous().is_some_and(|at| at as u64 == base);
            send.peer == peer && send.id.is_some() && begins && end <= send.memory.len()
        };
        self.sends.iter().any(|(_, send)| covers(send))
    }

    /// Whether a send of at least `least` bytes to `peer` is under way.
    pub fn is_sending_long(&self, peer: Peer, least: u64) -> bool {
        self.sends.iter().any(|(_, send)| send.peer == peer && send.memory.len() >= least)
    }

    /// Number of sends under way.
    pub fn sends_under_way(&self) -> usize {
        self.sends.len()
    }
}
