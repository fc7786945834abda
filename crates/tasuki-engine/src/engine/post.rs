//! Operations as the program posts them.

use tasuki_msg::{ClaimError, Matching, PeerId, Queue, RecvRequest, SendRequest, Source};
use tasuki_proto::ConnId;

use super::Engine;
use crate::api::{Buffer, Claim, Found, Peer, PostError, Probe, RecvArgs, Report, SendArgs};
use crate::memory::Memory;
use crate::messages::ops::{RecvOp, SendOp};
use crate::net::tx::Sent;
use crate::peers::Route;
use crate::rendezvous::keys::RendezvousKey;
use crate::rma::api::{RemoteCall, RemoteDone, Rights, UnregisterError};

/// Sends.
impl Engine {
    /// Posts a send: within the call by the fast path of the peer's carrier, or by the general path.
    ///
    /// # Safety
    /// As [`crate::Endpoint::send`].
    #[inline(always)]
    pub unsafe fn send(&mut self, args: &SendArgs<'_>) -> Result<(), PostError> {
        if self.is_closing() {
            return Err(PostError::Closed);
        }
        refuse_null(args.buffers)?;
        let record = self.peers.get(args.peer).ok_or(PostError::UnknownPeer(args.peer))?;
        let (id, route) = (record.id, record.route);
        // SAFETY: the program's buffers can be read until this call returns, at least.
        if route == Route::Shm && unsafe { self.shm.send_now(&mut self.messages, id, args) } {
            self.wait.message_sent();
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { self.send_otherwise(&SendArgs { ..*args }, id, route) }
    }

    /// Posts a send that has not left through shared memory within the call.
    ///
    /// # Safety
    /// As [`Engine::send`].
    #[inline(never)]
    unsafe fn send_otherwise(
        &mut self,
        args: &SendArgs<'_>,
        id: PeerId,
        route: Route,
    ) -> Result<(), PostError> {
        match route {
            // SAFETY: as the caller promises.
            Route::Net(conn) if unsafe { self.send_packet(args, (conn, id)) } => return Ok(()),
            Route::Net(_) | Route::Shm | Route::Loopback | Route::Gone => {}
            Route::Unknown => self.choose_route(args.peer, self.now()),
        }
        let send = self.begin_send(args, id)?;
        let now = self.now();
        self.settle(now);
        let route = self.peers.get(args.peer).map_or(Route::Gone, |record| record.route);
        // SAFETY: as the caller promises.
        unsafe { self.messages.keep_copy(send, args, route) };
        if self.activity.enter_while_posting(now) {
            self.progress();
        }
        Ok(())
    }

    /// Sends a short message to a peer on another host within the call, if nothing stands in its way. False:
    /// nothing has happened.
    ///
    /// # Safety
    /// As [`Engine::send`].
    unsafe fn send_packet(&mut self, args: &SendArgs<'_>, to: (ConnId, PeerId)) -> bool {
        let now = self.now();
        let polls = (self.activity.program, self.wait.polls_left());
        // SAFETY: as the caller promises.
        let sent = unsafe { self.net.send_now(to, args, polls, &mut self.messages, &mut self.peers, now) };
        if self.net.is_coalescing() {
            // The next poll is to find out that the series is over.
            self.unsettle();
        }
        if sent == Sent::Transmit {
            self.settle(now);
        }
        sent != Sent::No
    }

    /// Begins a send on the general path. Gives the number by which `Messages::send_of` knows it.
    fn begin_send(&mut self, args: &SendArgs<'_>, id: PeerId) -> Result<u64, PostError> {
        let memory = Memory::of(args.buffers);
        let len = memory.len();
        let route = self.peers.get(args.peer).map_or(Route::Gone, |record| record.route);
        let key = if args.inject { None } else { self.rendezvous_key(args.peer, route, &memory) };
        let pace = self.peers.get(args.peer).and_then(|record| self.net.pace(record, len));
        let op = SendOp {
            id: None,
            generation: 0,
            memory,
            context: args.context,
            peer: args.peer,
            tagged: args.tag.is_some(),
            report: args.report,
            reported: false,
            measured: self.messages.begin_measuring(args.peer, len, route),
            key,
            internal: None,
        };
        let request = SendRequest { remote_key: key.map(RendezvousKey::encode), ..args.request(id, len) };
        let user = self.messages.post_send(op, request).map_err(|_| PostError::UnknownPeer(args.peer))?;
        if let Some(pace) = pace
            && let Some(send) = self.messages.send_of(user).and_then(|send| send.id)
        {
            self.messages.layer_mut().pace_send(send, pace);
        }
        Ok(user)
    }

    /// The key under which the peer may fetch a message; `None`: the message goes in frames.
    fn rendezvous_key(&mut self, peer: Peer, route: Route, memory: &Memory) -> Option<RendezvousKey> {
        match route {
            Route::Shm => memory.contiguous().map(|base| RendezvousKey::Memory(base as u64)),
            _ => self.rendezvous.key_for(peer, route, memory, &mut self.messages),
        }
    }
}

/// Receives.
impl Engine {
    /// Posts a receive.
    ///
    /// # Safety
    /// As [`crate::Endpoint::recv`].
    #[inline(always)]
    pub unsafe fn recv(&mut self, args: &RecvArgs<'_>) -> Result<(), PostError> {
        if self.is_closing() {
            return Err(PostError::Closed);
        }
        refuse_null(args.buffers)?;
        let request = RecvRequest {
            matching: self.matching(args.source, args.tag, args.ignore)?,
            capacity: args.buffers.iter().map(|piece| piece.len as u64).sum(),
            multi: args.multi.map(|free| free as u64),
            user: 0,
        };
        let posted = self.messages.recv(request, |id| RecvOp {
            id: Some(id),
            memory: Memory::of(args.buffers),
            context: args.context,
            tagged: args.tag.is_some(),
            report: args.report,
            multi: args.multi.is_some(),
            internal: None,
        });
        posted.map_err(|error| PostError::UnknownPeer(error.0.into()))?;
        if self.messages.has_work() {
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
        let (capacity, tagged) = (memory.len(), claim.tagged);
        let op = RecvOp { id: None, memory, context, tagged, report, multi: false, internal: None };
        let posted = self.messages.post_recv(op, |layer, user| layer.recv_claimed(claim.id, capacity, user));
        posted.map_err(translate)?;
        self.follow_up();
        Ok(())
    }

    /// Drops a claimed message.
    pub fn discard_claimed(&mut self, claim: Claim) -> Result<(), PostError> {
        self.messages.layer_mut().discard_claimed(claim.id).map_err(translate)?;
        self.follow_up();
        Ok(())
    }

    /// The first message that the probe accepts and no receive has taken.
    pub fn peek_message(&mut self, probe: &Probe) -> Option<Found> {
        let matching = self.matching(probe.source, probe.tag, probe.ignore).ok()?;
        self.messages.layer_mut().peek(&matching).map(found)
    }

    /// As [`Engine::peek_message`], and reserves the message.
    pub fn claim(&mut self, probe: &Probe) -> Option<(Claim, Found)> {
        let matching = self.matching(probe.source, probe.tag, probe.ignore).ok()?;
        let tagged = probe.tag.is_some();
        let claimed = self.messages.layer_mut().claim(&matching);
        claimed.map(|(id, message)| (Claim { id, tagged }, found(message)))
    }

    /// As [`Engine::peek_message`], and drops the message.
    pub fn discard(&mut self, probe: &Probe) -> Option<Found> {
        let matching = self.matching(probe.source, probe.tag, probe.ignore).ok()?;
        let dropped = self.messages.layer_mut().discard(&matching).map(found);
        self.follow_up();
        dropped
    }

    /// Takes back the operations with this context, as far as they can still be taken back. True if one was.
    pub fn cancel(&mut self, context: u64) -> bool {
        let cancelled = self.messages.cancel(context);
        self.follow_up();
        cancelled
    }

    #[inline(always)]
    fn matching(&self, source: Option<Peer>, tag: Option<u64>, ignore: u64) -> Result<Matching, PostError> {
        let source = match source {
            None => Source::Any,
            Some(peer) => Source::Peer(self.peers.id(peer).ok_or(PostError::UnknownPeer(peer))?),
        };
        let queue = if tag.is_some() { Queue::Tagged } else { Queue::Msg };
        Ok(Matching { queue, source, tag: tag.unwrap_or(0), ignore })
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
        self.settle(self.now());
    }
}

/// One-sided transfers.
impl Engine {
    /// Lets peers reach memory under a key. False if the key is taken.
    pub fn register(&mut self, key: u64, pieces: &[Buffer], rights: Rights) -> Result<bool, PostError> {
        if self.is_closing() {
            return Err(PostError::Closed);
        }
        Ok(self.rma.register(key, Memory::of(pieces), rights))
    }

    /// Ends what [`Engine::register`] began.
    pub fn unregister(&mut self, key: u64) -> Result<(), UnregisterError> {
        self.rma.unregister(key)
    }

    /// Begins a put, a get or an atomic operation.
    ///
    /// # Safety
    /// As [`crate::Endpoint::put`] and [`crate::Endpoint::get`].
    pub unsafe fn transfer(&mut self, call: &RemoteCall<'_>) -> Result<(), PostError> {
        if self.is_closing() {
            return Err(PostError::Closed);
        }
        let now = self.now();
        self.choose_route(call.peer(), now);
        // SAFETY: as the caller promises.
        unsafe { self.rma.begin(call, &mut self.messages, &self.peers) }?;
        self.settle(now);
        Ok(())
    }

    /// Gives up to `max` transfers that are over to `each`. Returns how many.
    pub fn take_transfers(&mut self, max: usize, each: impl FnMut(RemoteDone)) -> usize {
        let count = self.rma.drain_completions(max, each);
        self.wait.note_served(count > 0);
        count
    }
}

/// Refuses buffers at address 0 that are not empty. Programs and MPIs have been seen to pass such; an error
/// tells them more than a fault in a copy.
#[inline(always)]
fn refuse_null(buffers: &[Buffer]) -> Result<(), PostError> {
    match buffers.iter().find(|piece| piece.ptr.is_null() && piece.len > 0) {
        Some(piece) => Err(PostError::NullBuffer(piece.len)),
        None => Ok(()),
    }
}

fn found(message: tasuki_msg::Found) -> Found {
    Found { source: message.source.into(), tag: message.tag, data: message.data, len: message.len }
}

fn translate(error: ClaimError) -> PostError {
    match error {
        ClaimError::Unknown => PostError::UnknownClaim,
        ClaimError::PeerGone(..) => PostError::ClaimLost,
    }
}
