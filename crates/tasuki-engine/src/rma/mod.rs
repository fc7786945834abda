//! One-sided transfers (RMA): the protocol between the engines of the origin, which asks, and of the target,
//! which has the memory.
//!
//! It is made of messages on the internal queue, which programs do not see. The origin posts a receive for
//! the answer and sends a *request*. The target takes requests as they arrive (whenever its engine settles,
//! so by its helper thread too) and answers:
//!
//! * a put of up to 4096 bytes has its payload in the request; the target copies it, and the answer, which is
//!   empty, says whether it could;
//! * a longer put sends its payload in a message of its own, for which the target posts a receive straight
//!   into the region, or into nothing if it refuses; the answer follows when the payload is there;
//! * the answer to a get is the bytes that it asked for;
//! * an atomic operation has its operands in the request; the target does it, and the answer is empty, or the
//!   former values.
//!
//! The verdict is the remote completion data of the answer; the completion data of a put is that of its
//! request. So every step is a message like any other: ordered, bounded, delivered once, and ended with an
//! error when the peer is gone.

pub(crate) mod api;
pub(crate) mod atomic;
pub(crate) mod operations;
mod regions;
mod request;
mod target;

use std::collections::VecDeque;

use slab::Slab;
use tasuki_msg::{Failure as MsgFailure, PeerId, RecvDone};
use tasuki_tuning::rma;

use crate::api::{Buffer, Failure, Peer, PostError};
use crate::memory::Memory;
use crate::messages::ops::Internal;
use crate::messages::{Messages, translate};
use crate::peers::Peers;
use api::{AtomicArgs, RemoteArgs, RemoteCall, RemoteDone, RemoteFailure, Rights, UnregisterError};
use atomic::Atomic;
use regions::Regions;
use request::{GET, HEAD, NUMBER_MAX, PUT, PUT_INLINE, Request};
use target::{accuse, answer, verdict};

/// Verdict of an answer: the transfer was done.
const DONE: u64 = 0;
/// Verdict of an answer: there is no such memory.
const REFUSED: u64 = 1;
/// Verdict of an answer to an atomic operation: an element is not aligned.
const MISALIGNED: u64 = 2;

/// Tag of requests on the internal queue. The tags of answers and payloads have other upper bits, and the
/// request's number below.
const REQUEST_TAG: u64 = 0;
const ANSWER_TAG: u64 = 1 << 62;
const PAYLOAD_TAG: u64 = 2 << 62;
const _: () = assert!(NUMBER_MAX < ANSWER_TAG);

const NOTHING: Buffer = Buffer { ptr: std::ptr::null_mut(), len: 0 };

/// What one send or receive on the internal queue is for.
enum Step {
    /// Target: a request arrives.
    Request,
    /// Target: the payload of a put arrives; `key` is `None` if it was refused. The program is told `data`
    /// when the payload is there.
    Placing { source: Peer, number: u64, key: Option<u64>, len: u64, data: Option<u64> },
    /// Target: the bytes that a get asked for leave.
    Serving { key: u64 },
    /// Origin: the answer to a transfer arrives.
    Answer { transfer: usize },
    /// Origin: the payload of a put leaves.
    Payload { transfer: usize },
}

/// A transfer that this endpoint asked for.
struct Transfer {
    done: RemoteDone,
    quiet: bool,
    /// Messages that have to end before it is over.
    left: u8,
}

/// All one-sided transfers of an endpoint.
#[derive(Default)]
pub(crate) struct Rma {
    regions: Regions,
    transfers: Slab<Transfer>,
    steps: Slab<Step>,
    numbers: u64,
    /// Transfers that are over, for the program.
    completions: VecDeque<RemoteDone>,
}

impl Rma {
    /// Lets peers reach memory under a key; false if the key is taken.
    pub fn register(&mut self, key: u64, memory: Memory, rights: Rights) -> bool {
        self.regions.register(key, memory, rights)
    }

    /// Ends what [`Rma::register`] began.
    pub fn unregister(&mut self, key: u64) -> Result<(), UnregisterError> {
        self.regions.unregister(key)
    }

    pub fn has_completions(&self) -> bool {
        !self.completions.is_empty()
    }

    /// Gives up to `max` completions to `each`, the oldest first. Returns how many.
    pub fn drain_completions(&mut self, max: usize, each: impl FnMut(RemoteDone)) -> usize {
        let count = max.min(self.completions.len());
        self.completions.drain(..count).for_each(each);
        count
    }

    fn next_number(&mut self) -> u64 {
        self.numbers = (self.numbers + 1) & NUMBER_MAX;
        self.numbers
    }

    fn step(&mut self, step: Step) -> Internal {
        Internal::Rma(self.steps.insert(step))
    }
}

/// The origin.
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
        let transfer = self.transfers.insert(Transfer { done, quiet: args.quiet, left });
        let into = Memory::One(if get { args.buffer } else { NOTHING });
        messages.recv_internal(id, ANSWER_TAG | number, into, self.step(Step::Answer { transfer }));
        let request = (REQUEST_TAG, args.data);
        messages.send_internal(peers, args.peer, request, Memory::Own(bytes), Internal::Unattended);
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
        let transfer = self.transfers.insert(Transfer { done, quiet: args.quiet, left: 1 });
        let into = Memory::One(args.result.unwrap_or(NOTHING));
        messages.recv_internal(id, ANSWER_TAG | number, into, self.step(Step::Answer { transfer }));
        let request = (REQUEST_TAG, None);
        messages.send_internal(peers, peer, request, Memory::Own(bytes), Internal::Unattended);
        Ok(())
    }

    /// One of the messages of a transfer is over.
    fn end_step(&mut self, transfer: usize, result: Result<(), RemoteFailure>) {
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

    fn answered(&mut self, transfer: usize, answer: &RecvDone, messages: &mut Messages) {
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

/// Both sides: ends of messages.
impl Rma {
    /// The send of a step is over.
    pub fn send_ended(&mut self, step: usize, result: Result<(), MsgFailure>) {
        match self.steps.try_remove(step) {
            Some(Step::Payload { transfer }) => {
                self.end_step(transfer, result.map_err(|failure| translate(failure).into()));
            }
            Some(Step::Serving { key }) => self.regions.leave(key),
            _ => {}
        }
    }

    /// The receive of a step is over; its memory is given back.
    pub fn recv_ended(
        &mut self,
        step: usize,
        result: Result<RecvDone, (PeerId, MsgFailure)>,
        memory: &Memory,
        messages: &mut Messages,
        peers: &Peers,
    ) {
        let Some(step) = self.steps.try_remove(step) else { return };
        match (step, result) {
            (Step::Request, Ok(done)) => self.requested(&done, memory.own(), messages, peers),
            (Step::Answer { transfer }, Ok(done)) => self.answered(transfer, &done, messages),
            (Step::Answer { transfer }, Err((_, failure))) => {
                self.end_step(transfer, Err(translate(failure).into()));
            }
            (Step::Placing { source, number, key, len, data }, result) => {
                if let Some(key) = key {
                    self.regions.leave(key);
                }
                match result {
                    Ok(done) if done.total == len => {
                        if key.is_some() {
                            messages.completions_mut().push_put(source, data, len);
                        }
                        let nothing = (Memory::One(NOTHING), Internal::Unattended);
                        answer(source, number, verdict(key.is_some()), nothing, messages, peers);
                    }
                    Ok(_) => accuse(source, messages),
                    Err(_) => {}
                }
            }
            _ => {}
        }
    }
}
