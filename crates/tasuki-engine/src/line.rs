//! Messages that cross shared memory in one line of the cache, when nothing stands in their way.
//!
//! Where ranks share a host these are most of all messages, and each has a tenth of a microsecond. They do what the general path does (`shared.rs`, `upcalls.rs`,
//! `actions.rs`), in a row and without queues between the steps.

use std::sync::atomic::{AtomicBool, Ordering};

use tasuki_msg::RecvDone;
use tasuki_ring::{Found, LineRecord, LineWords, Peek, Slot};

use crate::api::{Buffer, Completion, Names, Peer, Report, SendArgs};
use crate::biased_lock::Guard;
use crate::core::{Core, RecvOp};
use crate::linger::LINGER;
use crate::memory::{Memory, copy_few};
use crate::peer::Way;
use crate::record::{self, LINE_PAYLOAD};
use crate::shared::{push_start, sender};
use crate::state::State;

/// Looks between two at the clock, in one that stays.
const LOOKS: u32 = 16;

/// What a glance at memory has found.
pub enum Glance<'a> {
    /// There is nothing.
    Nothing,
    /// There is nothing yet.
    Expected(Expecting<'a>),
    /// A record: take it.
    Found(Waiting<'a>),
    /// Look in the general way.
    Unknown,
}

/// A record is expected.
pub struct Expecting<'a> {
    pub(crate) state: Guard<'a, State>,
    pub(crate) waits: &'a AtomicBool,
}

impl<'a> Expecting<'a> {
    /// Looks for it as long as is worth it.
    #[inline(always)]
    pub fn stay(mut self) -> Glance<'a> {
        match self.state.stay() {
            Peek::Nothing => Glance::Nothing,
            Peek::Found(found) => Glance::Found(Waiting { state: self.state, found, waits: self.waits }),
            Peek::Other => Glance::Unknown,
        }
    }
}

/// A record that waits in memory.
pub struct Waiting<'a> {
    pub(crate) state: Guard<'a, State>,
    /// Taken at most once.
    pub(crate) found: Found,
    pub(crate) waits: &'a AtomicBool,
}

impl Waiting<'_> {
    /// Takes it, and others that follow. Messages that were waited for are given to `give`, which says whether it takes more, under the endpoint's lock: it must not
    /// call the endpoint, and is told who is who. False: there was none; look in the general way.
    #[inline(always)]
    pub fn take(&mut self, give: impl FnMut(&Received, &Names<'_>) -> bool) -> bool {
        let given = self.state.take_lines(&self.found, give);
        if given {
            self.waits.store(false, Ordering::Relaxed);
        }
        given
    }
}

/// A message has come for a receive of one piece of memory, which is over. [`Completion::Recv`] says what the fields are.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "see there")]
pub struct Received {
    pub context: u64,
    pub source: Peer,
    pub tagged: bool,
    pub tag: u64,
    pub data: Option<u64>,
    pub ptr: *mut u8,
    pub len: u64,
    pub total: u64,
}

impl From<Received> for Completion {
    fn from(received: Received) -> Completion {
        let Received { context, source, tagged, tag, data, ptr, len, total } = received;
        let (last, multi, quiet) = (true, false, false);
        Completion::Recv { context, source, tagged, tag, data, ptr, len, total, last, multi, quiet }
    }
}

/// What the first record was.
pub(crate) enum First {
    Nothing,
    /// A message that was waited for. True: who was given it takes more.
    Given(bool),
    /// Something else, which has been taken in.
    Taken,
    /// Perhaps there is none: look in the general way.
    Unknown,
}

impl State {
    /// Glances at memory for a program that polls: all that most looks come to.
    #[inline(always)]
    pub fn glance(&mut self) -> Peek {
        if !self.may_glance() || self.has_earlier() {
            return Peek::Other;
        }
        let peek = self.peek_memory();
        if let Peek::Nothing = peek {
            if !self.patience.goes_on() {
                return Peek::Other;
            }
            self.flowing = false;
            self.looks.count();
        }
        peek
    }

    /// The same of one that has found nothing where something is expected: looks until something comes or [`LINGER`] is over, if all peers are on this host (what
    /// crosses a network takes longer, and it was no faster for those who looked for it all the time).
    fn stay(&mut self) -> Peek {
        if !self.spares_udp_most() || self.core.dual_copies.is_busy() {
            return Peek::Nothing;
        }
        let began = self.now();
        loop {
            for _ in 0..LOOKS {
                match self.peek_memory() {
                    Peek::Nothing => {}
                    peek => {
                        self.linger.is_over(true);
                        return peek;
                    }
                }
            }
            if self.now().since_ns(began) >= LINGER {
                self.linger.is_over(false);
                return Peek::Nothing;
            }
        }
    }

    /// Looks for a record in memory, and whether a frame waits elsewhere.
    #[inline(always)]
    fn peek_memory(&self) -> Peek {
        let peek = self.segment.as_ref().map_or(Peek::Nothing, |segment| segment.peek());
        match peek {
            Peek::Nothing if self.has_frames() => Peek::Other,
            peek => peek,
        }
    }

    /// Whether there is another record behind the one that was taken.
    #[inline(never)]
    fn peek_again(&mut self) -> Option<Found> {
        match self.peek_memory() {
            Peek::Found(next) => Some(next),
            _ => {
                self.flowing = false;
                None
            }
        }
    }

    /// Takes a record, and those that follow it, if one often does. (Otherwise a look for another would delay the first.) Whether a message was given.
    #[inline(always)]
    fn take_lines(&mut self, found: &Found, mut give: impl FnMut(&Received, &Names<'_>) -> bool) -> bool {
        let (mut found, mut given) = (*found, false);
        loop {
            let more = match self.take_line(found, &mut give) {
                First::Given(more) => more,
                First::Taken => {
                    self.spare_udp();
                    self.look_further(true);
                    return given;
                }
                _ => return given,
            };
            given = true;
            self.looks.count();
            self.spare_udp();
            self.patience.is_over(true, true);
            let flowing = std::mem::replace(&mut self.flowing, true);
            if self.core.msg.has_work() {
                self.look_further(true);
                return given;
            }
            if !(more && flowing && self.may_glance()) {
                return given;
            }
            let Some(next) = self.peek_again() else { return given };
            found = next;
        }
    }

    /// There is what comes before all that is in memory.
    #[inline(always)]
    fn has_earlier(&self) -> bool {
        !self.core.completions.is_empty() || self.core.msg.has_actions()
    }

    /// Takes the first record, if it is in one line.
    #[inline(always)]
    pub fn take_first(&mut self, give: &mut impl FnMut(&Received, &Names<'_>) -> bool) -> First {
        if self.has_earlier() {
            return First::Unknown;
        }
        match self.segment.as_ref().map(|segment| segment.peek()) {
            None | Some(Peek::Nothing) => First::Nothing,
            Some(Peek::Found(found)) => self.take_line(found, give),
            Some(Peek::Other) => First::Unknown,
        }
    }

    /// Takes the record that has just been found, if it is in one line.
    #[inline(always)]
    fn take_line(&mut self, found: Found, give: &mut impl FnMut(&Received, &Names<'_>) -> bool) -> First {
        let State { segment, core, slots, .. } = self;
        let Some(record) = segment.as_mut().and_then(|segment| segment.line(found)) else {
            return First::Unknown;
        };
        core.receive_line(slots, record, give)
    }
}

impl Core {
    /// Sends a message of one piece that fits into a line to a peer on this host at once, if nothing stands in its way. False: nothing has happened.
    ///
    /// # Safety
    /// The piece can be read.
    #[inline(always)]
    pub unsafe fn send_line(&mut self, args: &SendArgs<'_>, piece: &Buffer) -> bool {
        let Some(state) = self.peers.get_mut(args.peer.0 as usize) else { return false };
        let Way::Shared(shared) = &mut state.way else { return false };
        if piece.len > LINE_PAYLOAD || !shared.introduced || shared.waiting.is_some() {
            return false;
        }
        let Some(mut line) = shared.outbox.line() else { return false };
        let len = piece.len as u64;
        let Some(start) = self.msg.send_inline(&args.request(state.id, len), len) else { return false };
        match record::line_head(&start) {
            Some(head) => {
                let into = line.bytes();
                record::write_whole(&start, into);
                // SAFETY: the caller's; the line has room for so much behind the longest head.
                unsafe { copy_few(piece.ptr, into[head..].as_mut_ptr(), piece.len) };
                line.push(head + piece.len);
            }
            // Its number is too large for a short head, after some hundred million million messages.
            // SAFETY: the caller's.
            None => unsafe { push_start(line.give_back(), start, *args) },
        }
        if args.report != Report::Failure {
            self.sent(args.report, args.context, args.peer, args.tag.is_some());
        }
        true
    }

    /// A record of one line has come. Gives the message that it is to whom waits for it, if that can be done at once.
    #[inline(always)]
    fn receive_line(
        &mut self,
        slots: &[Option<(Slot, Peer)>],
        record: LineRecord<'_>,
        give: &mut impl FnMut(&Received, &Names<'_>) -> bool,
    ) -> First {
        // Nobody who is not known has anything so short to say.
        let Some((peer, id)) = sender(slots, record.slot()).and_then(|peer| Some((peer, self.id(peer)?)))
        else {
            record.consume();
            return First::Taken;
        };
        let whole = record::read_line(|at| record.word(at), record.len());
        let Some((start, head)) = whole.filter(|(start, _)| start.len <= LINE_PAYLOAD as u64) else {
            return self.receive_copy(peer, record);
        };
        let Some(done) = self.msg.recv_inline(id, &start) else {
            return self.receive_copy(peer, record);
        };
        // SAFETY: the head is inside of the line.
        let payload = unsafe { record.as_ptr().add(head) };
        let key = done.user as usize;
        let Some(RecvOp {
            memory: Memory::One(piece),
            context,
            tagged,
            report: Report::Completion,
            part: None,
            ..
        }) = self.recvs.get(key)
        else {
            self.receive_otherwise(RecvDone { ..done }, payload);
            record.consume();
            return First::Taken;
        };
        let (context, tagged, ptr, len) = (*context, *tagged, piece.ptr, done.len);
        // SAFETY: the message layer names only receives that have not completed, so that the piece is ours to write, and gives no message more than it has
        // room for; nor has the line less than the message, which was cut to what is in it.
        unsafe { copy_few(payload, ptr, len as usize) };
        record.consume();
        // One piece of the program's memory has nothing to be freed.
        self.recvs.forget(key);
        let (tag, data, total) = (done.tag, done.data, done.total);
        let received = Received { context, source: peer, tagged, tag, data, ptr, len, total };
        First::Given(give(&received, &Names(&self.peers)))
    }

    /// Not a whole message, or not one that is waited for.
    #[inline(always)]
    fn receive_copy(&mut self, peer: Peer, record: LineRecord<'_>) -> First {
        self.take_words(peer, record.slot(), record.words(), record.len());
        record.consume();
        First::Taken
    }

    #[inline(never)]
    fn take_words(&mut self, peer: Peer, slot: Slot, words: LineWords<'_>, len: usize) {
        self.take_record(peer, slot, &words.copy()[..len]);
    }

    /// A message for a receive that is not the program's, in several pieces, or not told of.
    #[inline(never)]
    fn receive_otherwise(&mut self, done: RecvDone, payload: *const u8) {
        let mut bytes = [0; LINE_PAYLOAD];
        // SAFETY: the line has so many bytes behind the longest head.
        unsafe { copy_few(payload, bytes.as_mut_ptr(), LINE_PAYLOAD) };
        self.received(&done, &bytes[..(done.len as usize).min(LINE_PAYLOAD)]);
    }
}
