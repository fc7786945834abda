//! Messages that cross shared memory in one line of the cache, when nothing stands in their way.
//!
//! Where ranks share a host these are most of all messages, and each has a tenth of a microsecond. They do what the general path does (`shared.rs`, `upper.rs`,
//! `actions.rs`), in a row and without queues between the steps.

use tasuki_msg::RecvDone;
use tasuki_ring::{Glance, LineRecord, Slot};

use crate::api::{Buffer, Completion, Peer, Report, SendArgs};
use crate::core::{Core, RecvOp};
use crate::memory::{Memory, copy_few};
use crate::peer::Way;
use crate::record::{self, LINE_PAYLOAD};
use crate::shared::{push_start, sender};
use crate::state::State;

/// What a glance at memory has found.
pub enum Glanced {
    /// There is nothing.
    Nothing,
    /// A message that was waited for: its receive is over. True: there may be another now. (Without that do not glance for a second one, which would delay the first.)
    Given(Completion, bool),
    /// Look in the general way.
    Unknown,
}

/// What the first record was.
pub(crate) enum First {
    Nothing,
    Given(Completion),
    /// Something else, which has been taken in.
    Taken,
    /// Perhaps there is none: look in the general way.
    Unknown,
}

impl State {
    /// Glances at memory for a program that polls: all that most looks come to.
    #[inline(always)]
    pub fn glance(&mut self) -> Glanced {
        if !self.may_glance() {
            return Glanced::Unknown;
        }
        match self.take_first() {
            First::Given(completion) => {
                self.looks += 1;
                let more = std::mem::replace(&mut self.flowing, true);
                self.spare_udp();
                self.patience.is_over(true, true);
                if self.core.msg.has_work() {
                    self.look_further(true);
                }
                Glanced::Given(completion, more)
            }
            First::Nothing if !self.has_frames() && self.patience.goes_on() => {
                self.flowing = false;
                self.looks += 1;
                Glanced::Nothing
            }
            First::Taken => {
                self.taken();
                Glanced::Unknown
            }
            _ => Glanced::Unknown,
        }
    }

    #[inline(never)]
    fn taken(&mut self) {
        self.spare_udp();
        self.look_further(true);
    }

    /// Takes the first record, if it is in one line.
    #[inline(always)]
    pub fn take_first(&mut self) -> First {
        let State { segment, core, slots, .. } = self;
        // What is already there comes first.
        if !core.completions.is_empty() || core.msg.has_actions() {
            return First::Unknown;
        }
        let Some(segment) = segment else { return First::Nothing };
        let record = match segment.first_line() {
            Glance::Record(record) => record,
            Glance::Nothing => return First::Nothing,
            Glance::Other => return First::Unknown,
        };
        let given = core.receive_line(slots, &record);
        record.consume();
        match given {
            Some(completion) => First::Given(completion),
            None => First::Taken,
        }
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
        let Some(start) = self.msg.send_now(&args.request(state.id, len), len) else { return false };
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

    /// A record of one line has come. Gives the completion that follows at once from it, if one does.
    #[inline(always)]
    fn receive_line(
        &mut self,
        slots: &[Option<(Slot, Peer)>],
        record: &LineRecord<'_>,
    ) -> Option<Completion> {
        // Nobody who is not known has anything so short to say.
        let peer = sender(slots, record.slot())?;
        let id = self.id(peer)?;
        let whole = record::read_line(|at| record.word(at), record.len());
        let Some((start, head)) = whole.filter(|(start, _)| start.len <= LINE_PAYLOAD as u64) else {
            return self.receive_copy(peer, record);
        };
        let Some(done) = self.msg.take_now(id, &start) else { return self.receive_copy(peer, record) };
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
            return self.receive_otherwise(done, payload);
        };
        let (context, tagged, ptr, len) = (*context, *tagged, piece.ptr, done.len);
        // SAFETY: the message layer names only receives that have not completed, so that the piece is ours to write, and gives no message more than it has
        // room for; nor has the line less than the message, which was cut to what is in it.
        unsafe { copy_few(payload, ptr, len as usize) };
        // One piece of the program's memory has nothing to be freed.
        std::mem::forget(self.recvs.remove(key));
        let (multi, quiet, last) = (false, false, true);
        let (tag, data, total) = (done.tag, done.data, done.total);
        Some(Completion::Recv {
            context,
            source: peer,
            tagged,
            tag,
            data,
            ptr,
            len,
            total,
            last,
            multi,
            quiet,
        })
    }

    /// Not a whole message, or not one that is waited for.
    #[inline(never)]
    fn receive_copy(&mut self, peer: Peer, record: &LineRecord<'_>) -> Option<Completion> {
        let (bytes, len) = record.copy();
        self.take_record(peer, record.slot(), &bytes[..len]);
        None
    }

    /// A message for a receive that is not the program's, in several pieces, or not told of.
    #[inline(never)]
    fn receive_otherwise(&mut self, done: RecvDone, payload: *const u8) -> Option<Completion> {
        let mut bytes = [0; LINE_PAYLOAD];
        // SAFETY: the line has so many bytes behind the longest head.
        unsafe { copy_few(payload, bytes.as_mut_ptr(), LINE_PAYLOAD) };
        self.received(&done, &bytes[..(done.len as usize).min(LINE_PAYLOAD)]);
        None
    }
}
