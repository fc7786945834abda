//! The fast path of shared memory: messages that cross in one cache line, when nothing stands in their way.
//!
//! Where ranks share a host most messages are such, and each has a tenth of a microsecond. The functions here
//! have the same effects as the general path (`Shm::push`, `Shm::receive`, `Messages::deliver`), in one pass
//! and without queues between the steps.

use tasuki_msg::{PeerId, RecvDone};
use tasuki_ring::{Found, FoundRecord, LineRecord, Peek};
use tasuki_tuning::shm;

use super::dual_copy::DualCopies;
use super::outbound::{Outbound, write_start};
use super::record::{self, HEAD, INLINE_PAYLOAD};
use super::senders::Senders;
use super::{Payload, Shm, take_record};
use crate::api::{Buffer, Completion, Peer, Report, SendArgs};
use crate::memory::{Arrived, copy_few, total};
use crate::messages::Messages;
use crate::peers::{Names, Peers};

/// A message for a receive of one piece of memory, which is over with it. The fields are those of
/// [`Completion::Recv`].
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// As posted.
    pub context: u64,
    /// The sender.
    pub source: Peer,
    /// It came on the tagged queue.
    pub tagged: bool,
    /// Its tag; 0 on the untagged queue.
    pub tag: u64,
    /// Its remote completion data.
    pub data: Option<u64>,
    /// Where it begins in memory.
    pub ptr: *mut u8,
    /// Bytes received.
    pub len: u64,
    /// Length as sent; more than `len`: it was truncated.
    pub total: u64,
}

impl From<Received> for Completion {
    fn from(received: Received) -> Completion {
        let Received { context, source, tagged, tag, data, ptr, len, total } = received;
        let (last, multi, quiet) = (true, false, false);
        Completion::Recv { context, source, tagged, tag, data, ptr, len, total, last, multi, quiet }
    }
}

/// What the first record in shared memory was.
pub(crate) enum First {
    /// There was none.
    Nothing,
    /// A message for a waiting receive was handed over. True: its recipient takes more.
    Given(bool),
    /// Something else, which has been taken in.
    Taken,
    /// Perhaps there is none: poll in the general way.
    Unknown,
}

/// Receiving.
impl Shm {
    /// Looks for a record without taking it. Costs a few loads.
    #[inline(always)]
    pub fn peek(&self) -> Peek {
        self.segment.as_ref().map_or(Peek::Nothing, |segment| segment.peek())
    }

    /// Notes whether the last look has found something. Gives what was noted before.
    #[inline(always)]
    pub fn set_flowing(&mut self, flowing: bool) -> bool {
        std::mem::replace(&mut self.flowing, flowing)
    }

    /// Takes the record that [`Shm::peek`] has just found, if it is in one cache line. A message for a
    /// receive that waits is given to `give`, which says whether it takes more.
    #[inline(always)]
    pub fn take_inline(
        &mut self,
        found: Found,
        messages: &mut Messages,
        peers: &Peers,
        give: &mut impl FnMut(&Received, &Names<'_>) -> bool,
    ) -> First {
        let Shm { segment, senders, dual_copies, .. } = self;
        let Some(segment) = segment.as_mut() else { return First::Unknown };
        let Some(record) = segment.cache_line(found) else {
            return take_longer(segment.found_record(found), senders, dual_copies, messages, peers, give);
        };
        // A peer that is not known yet has nothing so short to say: its introduction is longer.
        let sender = senders.find(record.slot()).and_then(|peer| Some((peer, peers.id(peer)?)));
        let Some((peer, id)) = sender else {
            record.consume();
            return First::Taken;
        };
        let whole = record::read_line(|at| record.word(at), record.len());
        let Some((start, head)) = whole.filter(|(start, _)| start.len <= INLINE_PAYLOAD as u64) else {
            return take_copy(peer, record, dual_copies, messages, peers);
        };
        let Some(done) = messages.layer_mut().recv_inline(id, &start) else {
            return take_copy(peer, record, dual_copies, messages, peers);
        };
        // SAFETY: `read_line` has checked that the head is inside of the line.
        let payload = unsafe { record.as_ptr().add(head) };
        let Some((piece, context, tagged)) = messages.plain_recv(done.user) else {
            // SAFETY: the line has `INLINE_PAYLOAD` bytes behind the longest head.
            unsafe { take_for_other_recv(&RecvDone { ..done }, payload, messages) };
            record.consume();
            return First::Taken;
        };
        let (ptr, len) = (piece.ptr, done.len);
        // SAFETY: the message layer names only receives that have not completed, so the piece is ours to
        // write, and gives no message more than the piece has room for; nor more than the line has, to which
        // the message was cut by `read_line`.
        unsafe { copy_few(payload, ptr, len as usize) };
        record.consume();
        messages.forget_plain_recv(done.user);
        let (tag, data, total) = (done.tag, done.data, done.total);
        let received = Received { context, source: peer, tagged, tag, data, ptr, len, total };
        First::Given(give(&received, &Names(peers)))
    }
}

/// Takes a record of several cache lines. A whole message for a receive that waits is copied straight into
/// its memory, and given.
#[inline(never)]
fn take_longer(
    found: Option<FoundRecord<'_>>,
    senders: &Senders,
    dual_copies: &mut DualCopies,
    messages: &mut Messages,
    peers: &Peers,
    give: &mut impl FnMut(&Received, &Names<'_>) -> bool,
) -> First {
    let Some(found) = found else { return First::Unknown };
    let (record, slot) = (found.record(), found.slot());
    // The first record of a stranger is its introduction, which the general way takes in.
    let sender = senders.find(slot).and_then(|peer| Some((peer, peers.id(peer)?)));
    let Some((peer, id)) = sender else { return First::Unknown };
    let mut words = [[0; 8]; 3];
    let known = record.copy_to(0, words.as_flattened_mut());
    let word = |at: usize| u64::from_le_bytes(words[at]);
    let whole = if known { record::read_line(word, record.len()) } else { None };
    let done = whole.and_then(|(start, head)| Some((messages.layer_mut().recv_inline(id, &start)?, head)));
    let Some((done, head)) = done else {
        take_record(peer, slot, record, dual_copies, messages, peers);
        found.consume();
        return First::Taken;
    };
    let payload = Payload { record, head };
    let Some((piece, context, tagged)) = messages.plain_recv(done.user) else {
        messages.received_whole(&done, &payload);
        found.consume();
        return First::Taken;
    };
    let (ptr, len) = (piece.ptr, done.len);
    // SAFETY: the message layer names only receives that have not completed, so the piece is ours to write,
    // and gives no message more than the piece has room for, nor more than the record has.
    unsafe { payload.copy_to(0, ptr, len as usize) };
    found.consume();
    messages.forget_plain_recv(done.user);
    let (tag, data, total) = (done.tag, done.data, done.total);
    let received = Received { context, source: peer, tagged, tag, data, ptr, len, total };
    First::Given(give(&received, &Names(peers)))
}

/// Takes a record in the general way: it is no whole message, or none for which a receive waits.
#[inline(always)]
fn take_copy(
    peer: Peer,
    record: LineRecord<'_>,
    dual_copies: &mut DualCopies,
    messages: &mut Messages,
    peers: &Peers,
) -> First {
    take_inline_record(peer, &record, dual_copies, messages, peers);
    record.consume();
    First::Taken
}

#[inline(never)]
fn take_inline_record(
    peer: Peer,
    cache_line: &LineRecord<'_>,
    dual_copies: &mut DualCopies,
    messages: &mut Messages,
    peers: &Peers,
) {
    take_record(peer, cache_line.slot(), &cache_line.record(), dual_copies, messages, peers);
}

/// Ends a receive that is not the program's, has several pieces, or wants no completion, with an inline
/// message.
///
/// # Safety
/// `payload` has [`INLINE_PAYLOAD`] bytes that can be read, of which the first `done.len` are the message's.
#[inline(never)]
unsafe fn take_for_other_recv(done: &RecvDone, payload: *const u8, messages: &mut Messages) {
    let mut bytes = [0; INLINE_PAYLOAD];
    // SAFETY: as the caller promises.
    unsafe { copy_few(payload, bytes.as_mut_ptr(), INLINE_PAYLOAD) };
    messages.received_whole(done, &bytes[..(done.len as usize).min(INLINE_PAYLOAD)].as_ref());
}

/// Sending.
impl Shm {
    /// Sends a short message within the call, if nothing stands in its way. False: nothing has happened.
    ///
    /// # Safety
    /// The buffers of `args` can be read.
    #[inline(always)]
    pub unsafe fn send_now(&mut self, messages: &mut Messages, id: PeerId, args: &SendArgs<'_>) -> bool {
        let Some(outbound) = self.outbound_mut(args.peer).filter(|outbound| outbound.is_clear()) else {
            return false;
        };
        // SAFETY: as the caller promises.
        unsafe {
            match args.buffers {
                [piece] if piece.len <= INLINE_PAYLOAD => outbound.send_inline(messages, id, args, piece),
                _ => outbound.send_record(messages, id, &SendArgs { ..*args }),
            }
        }
    }
}

impl Outbound {
    /// Sends a message of one piece that fits into a cache line.
    ///
    /// # Safety
    /// The piece can be read, and has at most [`INLINE_PAYLOAD`] bytes.
    #[inline(always)]
    unsafe fn send_inline(
        &mut self,
        messages: &mut Messages,
        id: PeerId,
        args: &SendArgs<'_>,
        piece: &Buffer,
    ) -> bool {
        let Some(mut cache_line) = self.outbox.cache_line() else { return false };
        let len = piece.len as u64;
        let Some(start) = messages.layer_mut().send_inline(&args.request(id, len), len) else { return false };
        match record::line_head(&start) {
            Some(head) => {
                let into = cache_line.bytes();
                record::write_whole(&start, into);
                // SAFETY: as the caller promises; the line has room for so much behind the longest head.
                unsafe { copy_few(piece.ptr, into[head..].as_mut_ptr(), piece.len) };
                cache_line.push(head + piece.len);
            }
            // The sequence number needs a long head, after some 10^14 messages to one peer.
            // SAFETY: as the caller promises.
            None => unsafe { Outbound::push_start(cache_line.give_back(), start, *args) },
        }
        if args.report != Report::Failure {
            messages.completions_mut().push_sent(args.report, args.context, args.peer, args.tag.is_some());
        }
        true
    }

    /// Sends a message that fits into one record, but not into a cache line.
    ///
    /// # Safety
    /// The buffers of `args` can be read.
    #[inline(never)]
    unsafe fn send_record(&mut self, messages: &mut Messages, id: PeerId, args: &SendArgs<'_>) -> bool {
        let Some(len) = total(args.buffers).filter(|&len| len <= shm::RECORD_PAYLOAD_MAX) else {
            return false;
        };
        let Some(room) = self.outbox.room(HEAD + len) else { return false };
        // The message is too short for a fetch from the sender's memory to pay, so it has no rendezvous key.
        let request = args.request(id, len as u64);
        let Some(start) = messages.layer_mut().send_inline(&request, len as u64) else { return false };
        let head = record::start_head(&start);
        // SAFETY: as the caller promises; the ring overlaps nobody's buffer.
        room.fill(head + len, |bytes| unsafe { write_start(bytes, head, &start, args) });
        messages.completions_mut().push_sent(args.report, args.context, args.peer, args.tag.is_some());
        true
    }
}
