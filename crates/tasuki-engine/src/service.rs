//! One-sided transfers: what the two engines say to each other, on the service queue, which programs do not see.
//!
//! The side that asks posts a receive for the answer and sends a *request*. The side that serves claims requests as they
//! come (in `State::settle`, so by the helper thread too) and answers each:
//!
//! * a put of up to [`SMALL`] bytes brings them in the request; they are copied, and an empty answer says what came of it;
//! * a longer put sends them in a message of their own, for which the serving side posts a receive straight into the memory, or into
//!   nothing if it refuses; the answer follows when they are there;
//! * the answer to a get is what it asked for.
//!
//! The verdict travels as the answer's completion data; the completion data of a put travels as that of its request. So every step is a message like any other, ordered, bounded and
//! delivered once, and ends with an error when the peer goes.

use std::collections::HashMap;

use slab::Slab;
use tasuki_msg::{
    ClaimId, Failure as MsgFailure, Found, Matching, Queue, RecvDone, RecvRequest, SendRequest, Source,
};

use crate::api::{Buffer, Completion, Peer, PostError};
use crate::core::{Core, RecvOp, SendOp};
use crate::memory::Memory;
use crate::remote::{RemoteArgs, RemoteDone, RemoteFailure, Rights, UnregisterError};
use crate::request::{GET, HEAD, NUMBERS, PUT, PUT_SMALL, Request, SMALL};

const DONE: u64 = 0;
const REFUSED: u64 = 1;

/// Tags: requests have tag 0; the others say what they are in the upper bits, and belong to a request by its number.
const ANSWER: u64 = 1 << 62;
const PAYLOAD: u64 = 2 << 62;
/// And notes about length-coded bulk and streams.
const NOTE: u64 = 3 << 62;
const _: () = assert!(NUMBERS < ANSWER);

/// What a send or a receive on the service queue is for.
pub(crate) enum Part {
    /// A request that arrives.
    Request { source: Peer, bytes: Vec<u8> },
    /// A note about length-coded bulk or streams that arrives.
    Told { source: Peer, bytes: Vec<u8> },
    /// Bytes of a put that arrive; `key` is `None` if they were refused. `data` is for the program, once they are there.
    Placing { source: Peer, number: u64, key: Option<u64>, len: u64, data: Option<u64> },
    /// The answer to our transfer arrives.
    Answer { transfer: usize },
    /// The bytes of our put leave.
    Payload { transfer: usize },
    /// The bytes that a get asked for leave.
    Serving { key: u64 },
    /// Something leaves that nobody waits for.
    Note,
}

/// Memory that peers may reach.
struct Region {
    memory: Memory,
    rights: Rights,
    /// Transfers under way.
    busy: usize,
    /// It takes no new ones.
    closed: bool,
}

/// A transfer that this side asked for.
struct Transfer {
    done: RemoteDone,
    quiet: bool,
    /// Messages that have to end first.
    left: u8,
}

/// All one-sided transfers of an endpoint.
#[derive(Default)]
pub(crate) struct Service {
    regions: HashMap<u64, Region>,
    transfers: Slab<Transfer>,
    numbers: u64,
}

impl Service {
    pub fn register(&mut self, key: u64, memory: Memory, rights: Rights) -> bool {
        let free = !self.regions.contains_key(&key);
        if free {
            self.regions.insert(key, Region { memory, rights, busy: 0, closed: false });
        }
        free
    }

    pub fn unregister(&mut self, key: u64) -> Result<(), UnregisterError> {
        let region = self.regions.get_mut(&key).ok_or(UnregisterError::Unknown)?;
        region.closed = true;
        match region.busy {
            0 => {
                self.regions.remove(&key);
                Ok(())
            }
            busy => Err(UnregisterError::Busy(busy)),
        }
    }

    /// The bytes that a request names, if they are all inside of memory that is registered for such a request.
    fn find(&self, request: &Request) -> Option<Memory> {
        let region = self.regions.get(&request.key).filter(|region| !region.closed)?;
        let allowed = if request.what == GET { region.rights.get } else { region.rights.put };
        let end = request.offset.checked_add(request.len)?;
        (allowed && end <= region.memory.len()).then(|| region.memory.part(request.offset, request.len))
    }

    /// As [`Service::find`], for a transfer that is under way in these bytes until [`Service::leave`].
    fn occupy(&mut self, request: &Request) -> Option<Memory> {
        let found = self.find(request)?;
        self.regions.get_mut(&request.key)?.busy += 1;
        Some(found)
    }

    fn leave(&mut self, key: u64) {
        if let Some(region) = self.regions.get_mut(&key) {
            region.busy = region.busy.saturating_sub(1);
        }
    }

    fn next_number(&mut self) -> u64 {
        self.numbers = (self.numbers + 1) & NUMBERS;
        self.numbers
    }
}

const NOTHING: Buffer = Buffer { ptr: std::ptr::null_mut(), len: 0 };

/// The side that asks.
impl Core {
    /// Begins a put or a get.
    ///
    /// # Safety
    /// The buffer of a put can be read and does not change, that of a get can be written and is used by nobody else, until the
    /// completion.
    pub unsafe fn begin_transfer(&mut self, args: &RemoteArgs, get: bool) -> Result<(), PostError> {
        self.id(args.peer).ok_or(PostError::UnknownPeer(args.peer))?;
        let len = args.buffer.len as u64;
        let number = self.service.next_number();
        let small = !get && args.buffer.len <= SMALL;
        let what = if get {
            GET
        } else if small {
            PUT_SMALL
        } else {
            PUT
        };
        let mut bytes = Vec::with_capacity(HEAD + if small { args.buffer.len } else { 0 });
        Request { what, key: args.key, offset: args.offset, len, number }.write(&mut bytes);
        if small && len > 0 {
            // SAFETY: the caller says that the buffer can be read.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(args.buffer.ptr, args.buffer.len) });
        }
        let done = RemoteDone { context: args.context, peer: args.peer, get, len, result: Ok(()) };
        let left = if get || small { 1 } else { 2 };
        let transfer = self.service.transfers.insert(Transfer { done, quiet: args.quiet, left });
        let into = if get { args.buffer } else { NOTHING };
        self.service_recv(args.peer, ANSWER | number, Memory::One(into), Part::Answer { transfer });
        self.service_send(args.peer, 0, args.data, Memory::Own(bytes), Part::Note);
        if left == 2 {
            let payload = Memory::One(args.buffer);
            self.service_send(args.peer, PAYLOAD | number, None, payload, Part::Payload { transfer });
        }
        Ok(())
    }

    fn end_step(&mut self, transfer: usize, result: Result<(), RemoteFailure>) {
        let Some(record) = self.service.transfers.get_mut(transfer) else { return };
        record.left = record.left.saturating_sub(1);
        if record.done.result.is_ok() {
            record.done.result = result;
        }
        if record.left > 0 {
            return;
        }
        let Transfer { done, quiet, .. } = self.service.transfers.remove(transfer);
        if !quiet || done.result.is_err() {
            self.remote.push_back(done);
        }
    }

    fn answered(&mut self, transfer: usize, done: &RecvDone) {
        let Some(record) = self.service.transfers.get(transfer) else { return };
        let (peer, get, len) = (record.done.peer, record.done.get, record.done.len);
        let result = match done.data {
            Some(DONE) if done.total == if get { len } else { 0 } => Ok(()),
            Some(REFUSED) => Err(RemoteFailure::Refused),
            _ => {
                self.broken.push((peer, "an answer to a one-sided transfer makes no sense".to_owned()));
                Err(RemoteFailure::Peer(crate::api::Failure::PeerFailed))
            }
        };
        self.end_step(transfer, result);
    }
}

/// The side that serves.
impl Core {
    /// Requests have come.
    pub fn has_requests(&self) -> bool {
        self.msg.unexpected(Queue::Service) > 0
    }

    /// Takes requests that have come. True if there was one.
    pub fn serve(&mut self) -> bool {
        if !self.has_requests() {
            return false;
        }
        let requests = Matching { queue: Queue::Service, source: Source::Any, tag: 0, ignore: 0 };
        let mut any = false;
        while let Some((claim, found)) = self.msg.claim(&requests) {
            any = true;
            self.take_request(claim, &found);
        }
        any
    }

    /// Takes notes about length-coded bulk and streams that have come. True if there was one.
    pub fn hear_notes(&mut self) -> bool {
        if !self.has_requests() {
            return false;
        }
        let notes = Matching { queue: Queue::Service, source: Source::Any, tag: NOTE, ignore: 0 };
        let mut any = false;
        while let Some((claim, found)) = self.msg.claim(&notes) {
            any = true;
            let source = Peer(found.source.index() as u32);
            if found.len > tasuki_bulk::NOTE_MAX as u64 {
                // The claim was given just now.
                let _ = self.msg.discard_claimed(claim);
                self.no_request(source);
                continue;
            }
            let mut bytes = vec![0; found.len as usize];
            let memory = Memory::One(Buffer { ptr: bytes.as_mut_ptr(), len: bytes.len() });
            let op = RecvOp::of_service(memory, Part::Told { source, bytes });
            // As above.
            let _ = self.post_recv(op, |msg, user| msg.recv_claimed(claim, found.len, user));
        }
        any
    }

    /// Sends a note about length-coded bulk or streams.
    pub fn send_note(&mut self, to: Peer, bytes: Vec<u8>) {
        self.service_send(to, NOTE, None, Memory::Own(bytes), Part::Note);
    }

    fn take_request(&mut self, claim: ClaimId, found: &Found) {
        let source = Peer(found.source.index() as u32);
        if found.len > (HEAD + SMALL) as u64 {
            // The claim was given just now.
            let _ = self.msg.discard_claimed(claim);
            return self.no_request(source);
        }
        let mut bytes = vec![0; found.len as usize];
        let memory = Memory::One(Buffer { ptr: bytes.as_mut_ptr(), len: bytes.len() });
        let op = RecvOp::of_service(memory, Part::Request { source, bytes });
        // As above.
        let _ = self.post_recv(op, |msg, user| msg.recv_claimed(claim, found.len, user));
    }

    fn no_request(&mut self, source: Peer) {
        self.broken.push((source, "a request for a one-sided transfer makes no sense".to_owned()));
    }

    fn requested(&mut self, source: Peer, bytes: &[u8], data: Option<u64>) {
        let Some((request, payload)) = Request::read(bytes) else { return self.no_request(source) };
        let (number, key, len) = (request.number, request.key, request.len);
        match request.what {
            PUT_SMALL => {
                let place = self.service.find(&request);
                if let Some(place) = &place {
                    // SAFETY: `find` stays inside of memory that the program has registered: it may be written until it is
                    // unregistered, which takes the same lock.
                    unsafe { place.write(0, payload) };
                    self.tell_put(source, data, len);
                }
                self.answer(source, number, place.is_some(), Memory::One(NOTHING), Part::Note);
            }
            PUT => {
                let place = self.service.occupy(&request);
                let part = Part::Placing { source, number, key: place.as_ref().map(|_| key), len, data };
                self.service_recv(source, PAYLOAD | number, place.unwrap_or(Memory::One(NOTHING)), part);
            }
            _ => match self.service.occupy(&request) {
                Some(place) => self.answer(source, number, true, place, Part::Serving { key }),
                None => self.answer(source, number, false, Memory::One(NOTHING), Part::Note),
            },
        }
    }

    fn answer(&mut self, to: Peer, number: u64, good: bool, bytes: Memory, part: Part) {
        let verdict = if good { DONE } else { REFUSED };
        self.service_send(to, ANSWER | number, Some(verdict), bytes, part);
    }

    /// A put is in the program's memory, which hears of it if completion data came with it.
    fn tell_put(&mut self, source: Peer, data: Option<u64>, len: u64) {
        if let Some(data) = data {
            self.completions.push_back(Completion::Put { source, data, len });
        }
    }
}

/// Both sides.
impl Core {
    fn service_send(&mut self, peer: Peer, tag: u64, data: Option<u64>, memory: Memory, part: Part) {
        let Some(id) = self.id(peer) else { return };
        let remote_key = self.remote_key(peer, &memory);
        let len = memory.len();
        if let Memory::Own(_) = memory {
            self.copied += len;
        }
        let queue = Queue::Service;
        let request = SendRequest { peer: id, queue, tag, data, len, delivery: false, remote_key, user: 0 };
        // The peer is known: `id` comes from its record.
        let _ = self.post_send(SendOp::of_service(peer, memory, part), request);
    }

    fn service_recv(&mut self, peer: Peer, tag: u64, memory: Memory, part: Part) {
        let Some(source) = self.id(peer) else { return };
        let capacity = memory.len();
        let matching = Matching { queue: Queue::Service, source: Source::Peer(source), tag, ignore: 0 };
        let request = |user| RecvRequest { matching, capacity, multi: None, user };
        // As above.
        let _ = self.post_recv(RecvOp::of_service(memory, part), |msg, user| msg.post_recv(request(user)));
    }

    /// A send on the service queue is over.
    pub fn service_sent(&mut self, part: Part, result: Result<(), MsgFailure>) {
        match part {
            Part::Payload { transfer } => {
                self.end_step(transfer, result.map_err(|failure| crate::actions::translate(failure).into()));
            }
            Part::Serving { key } => self.service.leave(key),
            _ => {}
        }
    }

    /// A receive on the service queue is over.
    pub fn service_received(&mut self, part: Part, done: &RecvDone) {
        match part {
            Part::Request { source, bytes } => self.requested(source, &bytes, done.data),
            Part::Told { source, bytes } => self.told(source, &bytes),
            Part::Answer { transfer } => self.answered(transfer, done),
            Part::Placing { source, number, key, len, data } => {
                if let Some(key) = key {
                    self.service.leave(key);
                }
                if done.total != len {
                    return self.no_request(source);
                }
                if key.is_some() {
                    self.tell_put(source, data, len);
                }
                self.answer(source, number, key.is_some(), Memory::One(NOTHING), Part::Note);
            }
            _ => {}
        }
    }

    /// A receive on the service queue has failed.
    pub fn service_lost(&mut self, part: Part, failure: MsgFailure) {
        match part {
            Part::Answer { transfer } => {
                self.end_step(transfer, Err(crate::actions::translate(failure).into()));
            }
            Part::Placing { key: Some(key), .. } => self.service.leave(key),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_registered_memory_is_found() {
        let mut memory = [0u8; 100];
        let start = memory.as_mut_ptr();
        let mut service = Service::default();
        let one = |len| Memory::One(Buffer { ptr: start, len });
        assert!(service.register(7, one(100), Rights::BOTH));
        assert!(!service.register(7, one(1), Rights::BOTH), "a key names one memory");
        let request = |key, offset, len| Request { what: GET, key, offset, len, number: 1 };
        for (offset, len) in [(0, 100), (100, 0), (99, 1), (50, 50)] {
            let found = service.find(&request(7, offset, len)).expect("inside");
            let begin = (len > 0).then(|| start.wrapping_add(offset as usize));
            assert_eq!((found.contiguous(), found.len()), (begin, len));
        }
        for (key, offset, len) in [(8, 0, 1), (7, 0, 101), (7, 101, 0), (7, u64::MAX, 2), (7, 1, u64::MAX)] {
            assert!(service.find(&request(key, offset, len)).is_none(), "{key} {offset} {len}");
        }
        assert!(service.occupy(&request(7, 0, 1)).is_some());
        assert_eq!(service.unregister(7), Err(UnregisterError::Busy(1)));
        assert!(service.occupy(&request(7, 0, 1)).is_none(), "nothing new begins");
        service.leave(7);
        assert_eq!(service.unregister(7), Ok(()));
        assert_eq!(service.unregister(7), Err(UnregisterError::Unknown));
    }

    #[test]
    fn memory_is_used_only_for_what_it_is_registered_for() {
        let mut memory = [0u8; 8];
        let memory = Buffer { ptr: memory.as_mut_ptr(), len: 8 };
        for (get, put) in [(true, false), (false, true), (true, true), (false, false)] {
            let mut service = Service::default();
            service.register(7, Memory::One(memory), Rights { get, put });
            for (what, allowed) in [(GET, get), (PUT, put), (PUT_SMALL, put)] {
                let request = Request { what, key: 7, offset: 0, len: 8, number: 1 };
                assert_eq!(
                    service.find(&request).is_some(),
                    allowed,
                    "operation {what}, get {get}, put {put}"
                );
            }
        }
    }

    #[test]
    fn offsets_count_through_all_pieces() {
        let mut memory = [0u8; 100];
        let start = memory.as_mut_ptr();
        let pieces = [(0, 10), (50, 20), (90, 5)];
        let pieces = pieces.map(|(at, len)| Buffer { ptr: start.wrapping_add(at), len });
        let mut service = Service::default();
        service.register(7, Memory::of(&pieces), Rights::BOTH);
        let find = |offset, len| service.find(&Request { what: PUT, key: 7, offset, len, number: 1 });
        let found = find(8, 24).expect("inside");
        // SAFETY: the places are inside of `memory`.
        unsafe { found.write(0, &[7; 24]) };
        let written: Vec<usize> = (0..100).filter(|&at| memory[at] == 7).collect();
        let expected: Vec<usize> = (8..10).chain(50..70).chain(90..92).collect();
        assert_eq!(written, expected);
        assert!(find(34, 2).is_none() && find(35, 0).is_some());
    }
}
