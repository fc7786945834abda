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
mod origin;
mod regions;
mod request;
mod target;

use std::collections::VecDeque;

use slab::Slab;
use tasuki_msg::{Failure as MsgFailure, PeerId, RecvDone};

use crate::api::{Buffer, Peer};
use crate::memory::Memory;
use crate::messages::ops::Internal;
use crate::messages::{Messages, translate};
use crate::peers::Peers;
use api::{RemoteDone, Rights, UnregisterError};
use regions::Regions;
use request::NUMBER_MAX;
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
