//! The sending side of a stream: records, straight out of the program's memory.

use std::collections::VecDeque;
use std::io::IoSlice;

use tasuki_link::Stream;
use tasuki_proto::Time;
use tasuki_tuning::streams;

use super::record::{Head, PULLED_FIRST, Written};
use crate::api::Peer;
use crate::messages::Messages;
use crate::messages::pushes::{Piece, Push};
use crate::rendezvous::keys::RendezvousKey;

/// What is sent to one peer.
#[derive(Default)]
pub(super) struct StreamTx {
    /// Pieces of messages that wait, in order.
    pushes: VecDeque<Push>,
    /// What the peer has asked for, in order.
    asked: VecDeque<Asked>,
    /// Records that the kernel has not taken whole.
    records: VecDeque<Record>,
    /// Pieces that the kernel has taken, each with the place of its bytes in the stream.
    taken: VecDeque<(u64, Push)>,
    /// Bytes that the kernel has taken since the stream began, heads included.
    written: u64,
    /// How many of them had arrived at the peer's host when that changed, and when, ns; 0: none under way.
    arrived: (u64, u64),
    /// The kernel took no more bytes last time.
    full: bool,
    /// The stream is over, and the peer has not said yet what it has received by it.
    over: bool,
}

/// Bytes of a message that the peer has asked for and that are still to be sent.
struct Asked {
    key: RendezvousKey,
    offset: u64,
    len: u64,
    /// Some of it has been sent.
    begun: bool,
}

/// One record.
struct Record {
    head: Written,
    /// Bytes behind the head.
    len: u64,
    /// Bytes that the kernel has taken, those of the head included.
    sent: u64,
    /// Place of the first byte behind the head in the stream.
    place: u64,
    what: What,
}

enum What {
    Push(Push),
    /// Bytes of the exposed send of this number, from this offset on.
    Asked(u64, u64),
}

impl StreamTx {
    /// Something is to be sent, or waits until the kernel of the peer has it.
    pub fn is_at_work(&self) -> bool {
        !self.over && self.owes()
    }

    /// Something that was given to the stream has not arrived, as far as is known.
    pub fn owes(&self) -> bool {
        self.has_more() || !self.taken.is_empty()
    }

    /// The peer is still to say what it has received.
    pub fn awaits_verdict(&self) -> bool {
        self.over
    }

    fn has_more(&self) -> bool {
        !(self.records.is_empty() && self.pushes.is_empty() && self.asked.is_empty())
    }

    /// The peer wants these bytes, behind all that it wanted before.
    pub fn ask(&mut self, key: RendezvousKey, offset: u64, len: u64) {
        self.asked.push_back(Asked { key, offset, len, begun: false });
    }

    /// A piece of a message is to be sent.
    pub fn push(&mut self, push: Push) {
        self.pushes.push_back(push);
    }

    /// Sends the bytes that the kernel takes now, and gives how many, without heads. `None`: what was asked
    /// for, or the stream, is gone.
    pub fn send(&mut self, messages: &Messages, peer: Peer, stream: &Stream) -> Option<u64> {
        let mut total = 0;
        if self.full && !stream.has_room() {
            return Some(0);
        }
        self.full = false;
        while total < streams::TURN_MAX as u64 && self.has_more() {
            self.fill_records();
            let (sent, wanted) = self.send_records(messages, peer, stream)?;
            total += self.took(sent);
            if sent < wanted {
                self.full = true;
                break;
            }
        }
        Some(total)
    }

    /// Makes records of what waits: pieces of messages first, as they are short.
    fn fill_records(&mut self) {
        let mut end = self.records.back().map_or(self.written, |last| last.place + last.len);
        while self.records.len() < streams::RECORDS_MAX {
            let (head, what) = if let Some(push) = self.pushes.pop_front() {
                match push.piece {
                    Piece::Data(data) => (Head::Data(data), What::Push(push)),
                    Piece::Start(start) => (Head::Start(start), What::Push(push)),
                }
            } else if let Some((number, offset, len)) = self.next_asked() {
                (Head::Pulled(len), What::Asked(number, offset))
            } else {
                break;
            };
            let written = head.write();
            let len = match &what {
                What::Push(push) => push.place().1,
                What::Asked(..) => head.len(),
            };
            let place = end + written.bytes().len() as u64;
            self.records.push_back(Record { head: written, len, sent: 0, place, what });
            end = place + len;
        }
    }

    /// The next bytes that were asked for: number of the send, offset, length.
    fn next_asked(&mut self) -> Option<(u64, u64, u64)> {
        let asked = self.asked.front_mut()?;
        // No other key is ever given to `ask`; any other number belongs to no send.
        let number = if let RendezvousKey::Stream(number) = asked.key { number } else { 0 };
        let most = if std::mem::replace(&mut asked.begun, true) { streams::PULLED_MAX } else { PULLED_FIRST };
        let (offset, len) = (asked.offset, asked.len.min(most));
        (asked.offset, asked.len) = (asked.offset.saturating_add(len), asked.len - len);
        if asked.len == 0 {
            self.asked.pop_front();
        }
        Some((number, offset, len))
    }

    /// Hands the records to the kernel. Gives how many bytes it took, and of how many.
    fn send_records(&self, messages: &Messages, peer: Peer, stream: &Stream) -> Option<(u64, u64)> {
        let mut pieces: Vec<IoSlice<'_>> = Vec::with_capacity(2 * self.records.len());
        let mut wanted = 0;
        for record in &self.records {
            // SAFETY: nobody writes to the memory of sends under way: programs have promised it, and no send
            // completes while `messages` is borrowed.
            unsafe { record.pieces(messages, peer, &mut pieces) }?;
            wanted += record.total() - record.sent;
        }
        pieces.truncate(streams::PIECES_MAX);
        let sent = stream.send_vectored(&pieces).ok()?;
        Some((sent as u64, wanted))
    }

    /// The kernel has taken so many bytes of the records. Gives how many, without heads.
    fn took(&mut self, sent: u64) -> u64 {
        let (mut left, mut payload) = (sent, 0);
        self.written += sent;
        while left > 0
            && let Some(record) = self.records.front_mut()
        {
            let take = left.min(record.total() - record.sent);
            let heads = take.min(record.head_len().saturating_sub(record.sent));
            (left, payload) = (left - take, payload + take - heads);
            record.sent += take;
            if record.sent == record.total()
                && let Some(Record { place, what: What::Push(push), .. }) = self.records.pop_front()
            {
                self.taken.push_back((place, push));
            }
        }
        payload
    }

    /// Releases the pieces that have arrived at the peer's host. True if there was one. `None`: the stream is
    /// gone, or nothing has arrived for so long that it is taken for dead. (A message may begin in the
    /// stream, so that its receiver does not know that it waits for something.)
    pub fn release(&mut self, messages: &mut Messages, stream: &Stream, now: Time) -> Option<bool> {
        if self.taken.is_empty() && self.records.is_empty() {
            self.arrived.1 = 0;
            return Some(false);
        }
        let arrived = self.written.saturating_sub(stream.unacknowledged().ok()?);
        if arrived != self.arrived.0 || self.arrived.1 == 0 {
            self.arrived = (arrived, now.0);
        }
        if now.0.saturating_sub(self.arrived.1) >= streams::STALLED_NS {
            return None;
        }
        let mut any = false;
        while let Some((_, push)) =
            self.taken.pop_front_if(|(place, push)| *place + push.place().1 <= arrived)
        {
            messages.release_push(&push);
            any = true;
        }
        if self.taken.is_empty() && self.records.is_empty() {
            self.arrived.1 = 0;
        }
        Some(any)
    }

    /// The stream is over: nothing more is sent until the peer says what it has received. The first frames of
    /// messages alone go in packets at once, even if they may have arrived: what the peer says comes in a
    /// message, and messages wait for those that began before. A frame that begins a message anew is dropped
    /// where it arrives. Gives how many pieces.
    pub fn end(&mut self, messages: &mut Messages, peer: Peer) -> usize {
        let (starts, rest): (Vec<_>, Vec<_>) =
            self.take_pieces().into_iter().partition(|(_, push)| matches!(push.piece, Piece::Start(_)));
        let owed = starts.len();
        starts.into_iter().for_each(|(_, push)| messages.owe_push(peer, push));
        (self.taken, self.over) = (rest.into(), true);
        owed
    }

    /// The peer has received so many bytes of the stream, heads included. The rest goes in packets. Gives how
    /// many pieces.
    pub fn settle(&mut self, messages: &mut Messages, peer: Peer, received: u64) -> usize {
        let mut owed = 0;
        for (place, push) in self.take_pieces() {
            let skip = received.saturating_sub(place);
            match push.without(skip) {
                Some(rest) => {
                    owed += 1;
                    messages.owe_push(peer, rest);
                }
                None => messages.release_push(&push),
            }
        }
        owed
    }

    /// The peer is gone: everything is given back.
    pub fn forget(&mut self, messages: &mut Messages) {
        self.take_pieces().iter().for_each(|(_, push)| messages.release_push(push));
    }

    /// Takes away all pieces that were not released, each with the place of its bytes in the stream, and
    /// begins anew.
    fn take_pieces(&mut self) -> Vec<(u64, Push)> {
        let StreamTx { taken, records, pushes, .. } = std::mem::take(self);
        let records = records.into_iter().filter_map(|record| match record.what {
            What::Push(push) => Some((record.place, push)),
            What::Asked(..) => None,
        });
        taken.into_iter().chain(records).chain(pushes.into_iter().map(|push| (u64::MAX, push))).collect()
    }
}

impl Record {
    fn head_len(&self) -> u64 {
        self.head.bytes().len() as u64
    }

    /// Length of head and bytes.
    fn total(&self) -> u64 {
        self.head_len() + self.len
    }

    /// Adds what is still to be sent of the record. `None` if the peer may not have it (any more).
    ///
    /// # Safety
    /// Nobody writes to the memory of sends under way while the result lives.
    unsafe fn pieces<'a>(
        &'a self,
        messages: &'a Messages,
        peer: Peer,
        into: &mut Vec<IoSlice<'a>>,
    ) -> Option<()> {
        if self.sent < self.head_len() {
            into.push(IoSlice::new(&self.head.bytes()[self.sent as usize..]));
        }
        let done = self.sent.saturating_sub(self.head_len());
        let (memory, offset) = match self.what {
            What::Push(push) => (&messages.send_of(push.user)?.memory, push.place().0),
            What::Asked(number, offset) => (&messages.exposed(number, peer)?.memory, offset),
        };
        offset.checked_add(self.len).filter(|end| *end <= memory.len())?;
        memory.walk(offset + done, (self.len - done) as usize, |ptr, len| {
            // SAFETY: the piece is inside of the send's memory, which can be read until the send completes.
            // It does not complete while `messages` is borrowed, and nobody writes to it, as the caller
            // promises.
            into.push(IoSlice::new(unsafe { std::slice::from_raw_parts(ptr, len) }));
        });
        Some(())
    }
}
