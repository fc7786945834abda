//! What the message layer asks for: copies, pulls, and news for the program.

use tasuki_msg::{Action, Event, Failure as MsgFailure, Gone, PeerId, PullId, RecvDone};

use crate::api::{Completion, Failure, Peer, Report};
use crate::bulk::Job;
use crate::core::Core;
use crate::offers::{OFFERED, STREAMED};
use crate::peer::Way;

/// A pull copies at most so much at once, bytes: what the kernel's scatter lists take in one piece.
const PULL_PIECE: usize = 64 << 20;

/// Bytes of a peer's message, and where they are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub peer: PeerId,
    /// Where the message begins in the peer's memory.
    pub key: u64,
    pub offset: u64,
    pub len: u64,
    /// The receive, and the place in its memory.
    pub user: u64,
    pub at: u64,
}

/// What came of a pull.
pub(crate) enum Pulled {
    /// It is over; false: the bytes could not be had.
    Now(bool),
    /// The message layer is told later.
    Later,
}

/// The end of a receive, or of one message of it, that has failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lost {
    pub user: u64,
    pub failure: MsgFailure,
    pub last: bool,
}

impl Core {
    /// Does all that the message layer asks for, in its order. True if there was something.
    pub fn run_actions(&mut self) -> bool {
        let mut any = false;
        while let Some(action) = self.msg.poll_action() {
            any = true;
            match action {
                Action::Copy { from, user, offset, len, .. } => {
                    let bytes = self.early(from);
                    let bytes = &bytes[..bytes.len().min(len as usize)];
                    if let Some(recv) = self.recvs.get(user as usize) {
                        // SAFETY: the receive has not completed: its completion comes after this action.
                        unsafe { recv.memory.write(offset, bytes) };
                    }
                }
                Action::FreeEarly(buffer) => self.free_early(buffer),
                Action::Pull { pull, peer, remote_key, offset, len, user, at, recv }
                    if remote_key & OFFERED != 0 =>
                {
                    let job = Job { pull, key: remote_key, offset, len, user, recv, at };
                    self.take_offered(peer, job);
                }
                Action::Pull { pull, peer, remote_key: key, offset, len, user, at, .. } => {
                    let want = Want { peer, key, offset, len, user, at };
                    if let Pulled::Now(copied) = self.pull(pull, &want) {
                        self.msg.handle_pulled(pull, copied);
                    }
                }
                Action::Event(event) => self.event(event),
            }
        }
        any
    }

    /// A message that its sender has offered is wanted: it comes as length-coded bulk or by stream, or in frames if that cannot be.
    fn take_offered(&mut self, peer: PeerId, job: Job) {
        let packets = self.peers.get(peer.index()).is_some_and(|state| state.conn.is_some());
        let fits = self.recvs.get(job.user as usize).is_some_and(|recv| recv.memory.contiguous().is_some());
        let (peer, pull) = (Peer(peer.index() as u32), job.pull);
        let taken = match &mut self.bulk {
            _ if !packets || !fits => false,
            _ if job.key & STREAMED != 0 => self.take_by_stream(peer, job).is_ok(),
            Some(bulk) => {
                bulk.post(peer, job);
                true
            }
            None => false,
        };
        if !taken {
            self.msg.handle_pulled(pull, false);
        }
    }

    fn pull(&mut self, pull: PullId, want: &Want) -> Pulled {
        match self.pull_by_dual_copy(pull, want) {
            Some(pulled) => pulled,
            None => Pulled::Now(self.read_from_peer(want)),
        }
    }

    /// Copies out of a peer's memory; false if the kernel does not let us, or the peer is gone.
    pub fn read_from_peer(&self, want: &Want) -> bool {
        let Some(state) = self.peers.get(want.peer.index()) else { return false };
        let Way::Shared(shared) = &state.way else { return false };
        let (Some(cma), Some(recv)) = (&shared.cma, self.recvs.get(want.user as usize)) else { return false };
        let address = want.key.wrapping_add(want.offset);
        let (mut done, mut whole) = (0u64, true);
        recv.memory.walk(want.at, want.len as usize, |ptr, size| {
            let mut inside = 0;
            while whole && inside < size {
                let take = (size - inside).min(PULL_PIECE);
                // SAFETY: `walk` stays inside of the receive's memory, which is ours as long as it is under way, and nobody
                // else looks at it meanwhile: the program gave it away and carriers place only what was granted.
                let into = unsafe { std::slice::from_raw_parts_mut(ptr.add(inside), take) };
                whole = cma.read(address.wrapping_add(done), into).is_ok();
                inside += take;
                done += take as u64;
            }
        });
        whole && done == want.len
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::SendDone { user, result, .. } => self.send_done(user, result),
            Event::RecvDone(done) => self.recv_done(&done),
            Event::RecvFailed { user, failure, last, .. } => self.recv_failed(Lost { user, failure, last }),
            Event::PeerGone { peer, .. } => {
                if let Some(state) = self.peers.get_mut(peer.index()) {
                    state.gone = true;
                    self.parted.push(Peer(peer.index() as u32));
                }
            }
            Event::Quiesced { .. } => {}
        }
    }

    fn send_done(&mut self, user: u64, result: Result<(), MsgFailure>) {
        let Some(send) = self.sends.try_remove(user as usize) else { return };
        let (context, peer, tagged) = (send.context, send.peer, send.tagged);
        if let Some(offer) = send.offer {
            self.offers.withdraw(offer);
        }
        if let crate::memory::Memory::Own(buffer) = send.memory {
            self.copied = self.copied.saturating_sub(buffer.len() as u64);
            self.recycle(buffer);
        }
        if let Some(part) = send.part {
            return self.service_sent(part, result);
        }
        match result {
            _ if send.reported => {}
            Ok(()) => self.sent(send.report, context, peer, tagged),
            Err(failure) => self.completions.push_back(Completion::Error {
                context,
                tagged,
                send: true,
                failure: translate(failure),
                peer: Some(peer),
                last: true,
                quiet: send.report != Report::Completion,
            }),
        }
    }

    /// A send is over, and has succeeded.
    pub fn sent(&mut self, report: Report, context: u64, peer: Peer, tagged: bool) {
        if report != Report::Failure {
            let quiet = report == Report::Quiet;
            self.completions.push_back(Completion::Send { context, peer, tagged, quiet });
        }
    }

    /// A whole message has come at once.
    pub fn received(&mut self, done: &RecvDone, payload: &[u8]) {
        let Some(recv) = self.recvs.get(done.user as usize) else { return };
        let bytes = &payload[..payload.len().min(done.len as usize)];
        // SAFETY: the message layer names only receives that have not completed: this one does below.
        unsafe { recv.memory.write(done.offset, bytes) };
        self.recv_done(done);
    }

    pub fn recv_done(&mut self, done: &RecvDone) {
        if self.dual_copies.is_pending() && self.dual_copies.hold_done(done) {
            return;
        }
        let Some(recv) = self.recvs.get_mut(done.user as usize) else { return };
        if let Some(part) = recv.part.take() {
            self.recvs.remove(done.user as usize);
            return self.service_received(part, done);
        }
        let completion = Completion::Recv {
            context: recv.context,
            source: Peer(done.source.index() as u32),
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
        if recv.report != Report::Failure || done.total > done.len {
            self.completions.push_back(completion);
        }
        if done.last {
            self.recvs.remove(done.user as usize);
        }
    }

    pub fn recv_failed(&mut self, lost: Lost) {
        if self.dual_copies.is_pending() && self.dual_copies.hold_lost(&lost) {
            return;
        }
        let Lost { user, failure, last } = lost;
        let Some(recv) = self.recvs.get_mut(user as usize) else { return };
        if let Some(part) = recv.part.take() {
            self.recvs.remove(user as usize);
            return self.service_lost(part, failure);
        }
        let peer = match failure {
            MsgFailure::PeerGone(peer, _) => Some(Peer(peer.index() as u32)),
            MsgFailure::Cancelled => None,
        };
        let (context, tagged, quiet) = (recv.context, recv.tagged, recv.report != Report::Completion);
        let failure = translate(failure);
        self.completions.push_back(Completion::Error {
            context,
            tagged,
            send: false,
            failure,
            peer,
            last,
            quiet,
        });
        if last {
            self.recvs.remove(user as usize);
        }
    }
}

pub(crate) fn translate(failure: MsgFailure) -> Failure {
    match failure {
        MsgFailure::Cancelled => Failure::Cancelled,
        MsgFailure::PeerGone(_, Gone::Failed) => Failure::PeerFailed,
        MsgFailure::PeerGone(_, Gone::Closed) => Failure::PeerClosed,
    }
}
