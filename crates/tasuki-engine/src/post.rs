//! Operations as they are posted.

use tasuki_msg::{ClaimError, Matching, PeerId, Queue, RecvRequest, SendRequest, Source};

use crate::api::{Buffer, Claim, Found, Peer, PostError, Probe, RecvArgs, Report, SendArgs};
use crate::core::{Core, RecvOp, SendOp};
use crate::memory::Memory;
use crate::peer::Way;
use crate::remote::RemoteArgs;
use crate::state::State;

/// Sends up to this size that cannot complete at once are copied and reported as complete, bytes: waiting for a round trip costs
/// more than the copy.
const COPY_MAX: u64 = 16 << 10;

/// So much may wait in such copies, bytes; beyond it the program waits, as it would with any transport.
const COPY_TOTAL: u64 = 16 << 20;

impl State {
    /// Posts a send.
    ///
    /// # Safety
    /// As [`crate::Endpoint::send`].
    #[inline(always)]
    pub unsafe fn send(&mut self, args: &SendArgs<'_>) -> Result<(), PostError> {
        if self.closing {
            return Err(PostError::Closed);
        }
        refuse_null(args.buffers)?;
        // SAFETY: the program's buffers can be read until this call returns, at least.
        unsafe {
            if !self.core.send_shared_now(args) {
                return self.send_further(&SendArgs { ..*args });
            }
        }
        self.linger.sent();
        Ok(())
    }

    /// The same of what does not go through memory at once.
    ///
    /// # Safety
    /// As [`State::send`].
    #[inline(never)]
    unsafe fn send_further(&mut self, args: &SendArgs<'_>) -> Result<(), PostError> {
        let now = self.now();
        // SAFETY: as above.
        if unsafe { self.send_packet_now(args, now) } {
            return Ok(());
        }
        self.choose_way(args.peer, now);
        let key = self.core.begin_send(args)?;
        self.settle(now);
        // SAFETY: the program's buffers can be read until this call returns, at least.
        unsafe { self.core.keep_copy(key, args) };
        Ok(())
    }

    /// Posts a receive.
    ///
    /// # Safety
    /// As [`crate::Endpoint::recv`].
    #[inline(always)]
    pub unsafe fn recv(&mut self, args: &RecvArgs<'_>) -> Result<(), PostError> {
        if self.closing {
            return Err(PostError::Closed);
        }
        refuse_null(args.buffers)?;
        let request = RecvRequest {
            matching: self.core.matching(args.source, args.tag, args.ignore)?,
            capacity: args.buffers.iter().map(|piece| piece.len as u64).sum(),
            multi: args.multi.map(|free| free as u64),
            user: self.core.recvs.next_key() as u64,
        };
        let posted = self.core.msg.post_recv(request);
        let id = posted.map_err(|error| PostError::UnknownPeer(Peer(error.0.index() as u32)))?;
        // Whatever the message layer asks for is done after this.
        self.core.recvs.insert(RecvOp {
            id: Some(id),
            memory: Memory::of(args.buffers),
            context: args.context,
            tagged: args.tag.is_some(),
            report: args.report,
            multi: args.multi.is_some(),
            part: None,
        });
        if self.core.msg.has_work() {
            self.settle_now();
        }
        Ok(())
    }

    /// Receives a claimed message.
    ///
    /// # Safety
    /// As [`crate::Endpoint::recv`].
    pub unsafe fn recv_claimed(
        &mut self,
        claim: Claim,
        buffers: &[Buffer],
        report: Report,
        context: u64,
    ) -> Result<(), PostError> {
        refuse_null(buffers)?;
        let memory = Memory::of(buffers);
        let capacity = memory.len();
        let tagged = claim.tagged;
        let op = RecvOp { id: None, memory, context, tagged, report, multi: false, part: None };
        let posted = self.core.post_recv(op, |msg, user| msg.recv_claimed(claim.id, capacity, user));
        posted.map_err(translate)?;
        self.follow_up();
        Ok(())
    }

    /// Drops a claimed message.
    pub fn discard_claimed(&mut self, claim: Claim) -> Result<(), PostError> {
        self.core.msg.discard_claimed(claim.id).map_err(translate)?;
        self.follow_up();
        Ok(())
    }

    /// Looks for a message that nobody has asked for.
    pub fn peek(&mut self, probe: &Probe) -> Option<Found> {
        let matching = self.core.matching(probe.source, probe.tag, probe.ignore).ok()?;
        self.core.msg.peek(&matching).map(found)
    }

    /// Looks, and reserves it.
    pub fn claim(&mut self, probe: &Probe) -> Option<(Claim, Found)> {
        let matching = self.core.matching(probe.source, probe.tag, probe.ignore).ok()?;
        let tagged = probe.tag.is_some();
        self.core.msg.claim(&matching).map(|(id, message)| (Claim { id, tagged }, found(message)))
    }

    /// Looks, and drops it.
    pub fn discard(&mut self, probe: &Probe) -> Option<Found> {
        let matching = self.core.matching(probe.source, probe.tag, probe.ignore).ok()?;
        let dropped = self.core.msg.discard(&matching).map(found);
        self.follow_up();
        dropped
    }

    /// Takes back the operation with this context if it can still be taken back.
    pub fn cancel(&mut self, context: u64) -> bool {
        let recvs = self.core.recvs.iter().filter(|recv| recv.context == context && recv.part.is_none());
        let recvs: Vec<_> = recvs.filter_map(|recv| recv.id).collect();
        let sends = self
            .core
            .sends
            .iter()
            .filter(|(_, send)| send.context == context && !send.reported && send.part.is_none());
        let sends: Vec<_> = sends.filter_map(|(_, send)| send.id).collect();
        let cancelled = recvs.into_iter().any(|id| self.core.msg.cancel_recv(id))
            || sends.into_iter().any(|id| self.core.msg.cancel_send(id));
        self.follow_up();
        cancelled
    }

    /// Begins a put or a get.
    ///
    /// # Safety
    /// As [`crate::Endpoint::put`] and [`crate::Endpoint::get`].
    pub unsafe fn transfer(&mut self, args: &RemoteArgs, get: bool) -> Result<(), PostError> {
        if self.closing {
            return Err(PostError::Closed);
        }
        let now = self.now();
        self.choose_way(args.peer, now);
        // SAFETY: as the caller promises.
        unsafe { self.core.begin_transfer(args, get) }?;
        self.settle(now);
        Ok(())
    }

    /// Does at once what a post has made possible.
    #[inline(always)]
    fn follow_up(&mut self) {
        if self.has_work() {
            self.settle_now();
        }
    }

    #[inline(never)]
    fn settle_now(&mut self) {
        let now = self.now();
        self.settle(now);
    }
}

impl SendArgs<'_> {
    /// What the message layer is asked for, without a key to the sender's memory and the caller's own name for it.
    #[inline(always)]
    pub(crate) fn request(&self, peer: PeerId, len: u64) -> SendRequest {
        let queue = if self.tag.is_some() { Queue::Tagged } else { Queue::Msg };
        let (tag, data, delivery) = (self.tag.unwrap_or(0), self.data, self.delivery);
        SendRequest { peer, queue, tag, data, len, delivery, remote_key: None, user: 0 }
    }
}

impl Core {
    /// Begins a send; gives its key in `sends`.
    fn begin_send(&mut self, args: &SendArgs<'_>) -> Result<usize, PostError> {
        let unknown = PostError::UnknownPeer(args.peer);
        let peer = self.id(args.peer).ok_or(unknown)?;
        let memory = Memory::of(args.buffers);
        let len = memory.len();
        let shared = if args.inject { None } else { self.remote_key(args.peer, &memory) };
        let offer = if args.inject { None } else { self.offer(args.peer, &memory) };
        let remote_key = shared.or(offer);
        let op = SendOp {
            id: None,
            memory,
            context: args.context,
            peer: args.peer,
            tagged: args.tag.is_some(),
            report: args.report,
            reported: false,
            offer,
            part: None,
        };
        let request = SendRequest { remote_key, ..args.request(peer, len) };
        let key = self.post_send(op, request).map_err(|_| unknown)?;
        if let Some(offer) = offer {
            self.offered(offer, key);
        }
        if let Some(pace) = self.pace(args.peer, len)
            && let Some(id) = self.sends.get(key).and_then(|send| send.id)
        {
            self.msg.pace_send(id, pace);
        }
        Ok(key)
    }

    /// A send that is still under way goes on from a copy, if the program must have its bytes back now or is better off so.
    ///
    /// # Safety
    /// The buffers of `args` can be read.
    unsafe fn keep_copy(&mut self, key: usize, args: &SendArgs<'_>) {
        let Some(send) = self.sends.get(key) else { return };
        let (len, shared) =
            (send.memory.len(), self.state(args.peer).is_some_and(|s| matches!(s.way, Way::Shared(_))));
        let small = len <= COPY_MAX && self.copied + len <= COPY_TOTAL && !args.delivery && !shared;
        if !args.inject && !small {
            return;
        }
        let room = self.spare(len as usize);
        // SAFETY: as the caller says.
        let copy = unsafe { Memory::copy_of(args.buffers, room) };
        self.copied += len;
        let Some(send) = self.sends.get_mut(key) else { return };
        send.memory = copy;
        if args.delivery {
            return;
        }
        send.reported = true;
        let (context, peer, tagged) = (send.context, send.peer, send.tagged);
        self.sent(args.report, context, peer, tagged);
    }

    #[inline(always)]
    fn matching(&self, source: Option<Peer>, tag: Option<u64>, ignore: u64) -> Result<Matching, PostError> {
        let source = match source {
            None => Source::Any,
            Some(peer) => Source::Peer(self.id(peer).ok_or(PostError::UnknownPeer(peer))?),
        };
        let queue = if tag.is_some() { Queue::Tagged } else { Queue::Msg };
        Ok(Matching { queue, source, tag: tag.unwrap_or(0), ignore })
    }
}

/// Programs and MPIs have been seen to pass such; an error tells them more than a fault in our copying.
#[inline(always)]
fn refuse_null(buffers: &[Buffer]) -> Result<(), PostError> {
    match buffers.iter().find(|piece| piece.ptr.is_null() && piece.len > 0) {
        Some(piece) => Err(PostError::NullBuffer(piece.len)),
        None => Ok(()),
    }
}

fn found(message: tasuki_msg::Found) -> Found {
    let source = Peer(message.source.index() as u32);
    Found { source, tag: message.tag, data: message.data, len: message.len }
}

fn translate(error: ClaimError) -> PostError {
    match error {
        ClaimError::Unknown => PostError::UnknownClaim,
        ClaimError::PeerGone(..) => PostError::ClaimLost,
    }
}
