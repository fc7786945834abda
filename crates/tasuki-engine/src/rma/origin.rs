//! The origin of one-sided transfers, which asks for them: it sends requests and takes the answers.

use tasuki_msg::{PeerId, RecvDone};
use tasuki_tuning::rma;

use super::api::{AtomicArgs, RemoteArgs, RemoteCall, RemoteDone, RemoteFailure};
use super::atomic::Atomic;
use super::request::{self, GET, HEAD, PUT, PUT_INLINE, Request};
use super::{ANSWER_TAG, DONE, MISALIGNED, NOTHING, PAYLOAD_TAG, REFUSED, REQUEST_TAG, Rma, Step, Transfer};
use crate::api::{Buffer, Failure, PostError};
use crate::memory::Memory;
use crate::messages::Messages;
use crate::messages::ops::Internal;
use crate::peers::Peers;

impl Rma {
    /// Begins a put, a get or an atomic operation.
    ///
    /// # Safety
    /// The buffer of a put can be read and does not change, that of a get or of an atomic operation can be
    /// written and is used by nobody else, until the completion.
    pub unsafe fn begin(
        &mut self,
        call: &RemoteCall<'_>,
        messages: &mut Messages,
        peers: &Peers,
    ) -> Result<(), PostError> {
        let id = peers.id(call.peer()).ok_or(PostError::UnknownPeer(call.peer()))?;
        match *call {
            // SAFETY: by the contract.
            RemoteCall::Put(args) => unsafe { self.begin_transfer(id, args, false, messages, peers) },
            // SAFETY: by the contract.
            RemoteCall::Get(args) => unsafe { self.begin_transfer(id, args, true, messages, peers) },
            RemoteCall::Atomic(args) => return self.begin_atomic(id, args, messages, peers),
        }
        Ok(())
    }

    /// Begins a put or a get.
    ///
    /// # Safety
    /// As for [`Rma::begin`].
    unsafe fn begin_transfer(
        &mut self,
        id: PeerId,
        args: &RemoteArgs,
        get: bool,
        messages: &mut Messages,
        peers: &Peers,
    ) {
        let len = args.buffer.len as u64;
        let number = self.next_number();
        let inline = !get && args.buffer.len <= rma::INLINE_PUT_MAX;
        let what = match (get, inline) {
            (true, _) => GET,
            (false, true) => PUT_INLINE,
            (false, false) => PUT,
        };
        let mut bytes = Vec::with_capacity(HEAD + if inline { args.buffer.len } else { 0 });
        Request { what, key: args.key, offset: args.offset, len, number }.write(&mut bytes);
        if inline && len > 0 {
            // SAFETY: the caller promises that the buffer can be read.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(args.buffer.ptr, args.buffer.len) });
        }
        let done = RemoteDone { context: args.context, peer: args.peer, get, len, result: Ok(()) };
        let with_payload = what == PUT;
        let left = if with_payload { 2 } else { 1 };
        let record = Transfer { done, quiet: args.quiet, left };
        let into = if get { args.buffer } else { NOTHING };
        let transfer = self.ask((id, number), record, (bytes, args.data), into, messages, peers);
        if with_payload {
            let (tag, payload) = ((PAYLOAD_TAG | number, None), Memory::One(args.buffer));
            messages.send_internal(peers, args.peer, tag, payload, self.step(Step::Payload { transfer }));
        }
    }

    fn begin_atomic(
        &mut self,
        id: PeerId,
        args: &AtomicArgs<'_>,
        messages: &mut Messages,
        peers: &Peers,
    ) -> Result<(), PostError> {
        let atomic = Atomic { op: args.op, datatype: args.datatype, fetch: args.result.is_some() };
        let (peer, len) = (args.peer, args.len as u64);
        let sizes = (args.operand.len(), args.comparand.len());
        let room = args.result.is_none_or(|result| result.len == args.len);
        if !atomic.fits(len) || atomic.operands(args.len) != sizes || !room {
            return Err(PostError::Operands);
        }
        let number = self.next_number();
        let what = request::atomic(&atomic);
        let mut bytes = Vec::with_capacity(HEAD + sizes.0 + sizes.1);
        Request { what, key: args.key, offset: args.offset, len, number }.write(&mut bytes);
        bytes.extend_from_slice(args.operand);
        bytes.extend_from_slice(args.comparand);
        let done = RemoteDone { context: args.context, peer, get: atomic.fetch, len, result: Ok(()) };
        let record = Transfer { done, quiet: args.quiet, left: 1 };
        let into = args.result.unwrap_or(NOTHING);
        self.ask((id, number), record, (bytes, None), into, messages, peers);
        Ok(())
    }

    /// Sends a request with its completion data, and receives the answer. Gives the transfer.
    fn ask(
        &mut self,
        (id, number): (PeerId, u64),
        record: Transfer,
        (bytes, data): (Vec<u8>, Option<u64>),
        into: Buffer,
        messages: &mut Messages,
        peers: &Peers,
    ) -> usize {
        let peer = record.done.peer;
        let transfer = self.transfers.insert(record);
        let step = self.step(Step::Answer { transfer });
        messages.recv_internal(id, ANSWER_TAG | number, Memory::One(into), step);
        let request = Memory::Own(bytes);
        messages.send_internal(peers, peer, (REQUEST_TAG, data), request, Internal::Unattended);
        transfer
    }

    /// One of the messages of a transfer is over.
    pub(super) fn end_step(&mut self, transfer: usize, result: Result<(), RemoteFailure>) {
        let Some(record) = self.transfers.get_mut(transfer) else { return };
        record.left = record.left.saturating_sub(1);
        if record.done.result.is_ok() {
            record.done.result = result;
        }
        if record.left > 0 {
            return;
        }
        let Transfer { done, quiet, .. } = self.transfers.remove(transfer);
        if !quiet || done.result.is_err() {
            self.completions.push_back(done);
        }
    }

    pub(super) fn answered(&mut self, transfer: usize, answer: &RecvDone, messages: &mut Messages) {
        let Some(record) = self.transfers.get(transfer) else { return };
        let (peer, expected) = (record.done.peer, if record.done.get { record.done.len } else { 0 });
        let result = match answer.data {
            Some(DONE) if answer.total == expected => Ok(()),
            Some(REFUSED) => Err(RemoteFailure::Refused),
            Some(MISALIGNED) => Err(RemoteFailure::Misaligned),
            _ => {
                messages.accuse(peer, "an answer to a one-sided transfer makes no sense");
                Err(RemoteFailure::Peer(Failure::PeerFailed))
            }
        };
        self.end_step(transfer, result);
    }
}
