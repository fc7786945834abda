//! The outbox of a connection: the frames that it has to deliver, in order of position; which of their
//! positions have been acknowledged, and which must be sent again.

use std::collections::VecDeque;

use tasuki_tuning::packets;

use crate::interval::IntervalSet;
use crate::sent::Entry;
use crate::upcalls::{Outgoing, Payload};

/// A frame that the layer above gave.
pub(crate) struct Chunk {
    pub pos: u64,
    /// Number of positions that it covers.
    pub len: u64,
    /// Number of its positions that are not acknowledged.
    pub remaining: u64,
    pub what: Outgoing,
    /// Where its payload begins among the kept bytes, if it came with its payload.
    kept: Option<u64>,
}

impl Chunk {
    /// The payload that the layer above must be told of when it is needed no longer.
    pub fn payload(&self) -> Option<&Payload> {
        match &self.what {
            Outgoing::Start { payload, .. } | Outgoing::Data { payload, .. } if self.kept.is_none() => {
                Some(payload)
            }
            _ => None,
        }
    }

    /// Number of kept payload bytes that are this chunk's.
    fn kept_len(&self) -> usize {
        match (&self.what, self.kept) {
            (Outgoing::Start { payload, .. }, Some(_)) => payload.len as usize,
            _ => 0,
        }
    }
}

#[derive(Default)]
pub(crate) struct Outbox {
    chunks: VecDeque<Chunk>,
    /// Id of the first chunk.
    first: u64,
    /// Payload that came with its frames, in order of the chunks; `kept_first` is the number of its first
    /// byte, counted since the beginning.
    kept: VecDeque<u8>,
    kept_first: u64,
    next_pos: u64,
    /// Number of positions at the end that have never been sent. They belong to the last chunk, or to several
    /// coalesced chunks of one position each.
    pub unsent: u64,
    acked: IntervalSet,
    /// Pieces to be sent again.
    pub lost: VecDeque<Entry>,
    /// The layer above may have more frames.
    pub more: bool,
}

impl Outbox {
    /// Adds a frame; returns false if it covers no position, or too many (an error of the layer above).
    pub fn push(&mut self, what: Outgoing) -> bool {
        self.add(what, None)
    }

    /// Adds a Start together with its whole payload, so that the layer above need not be asked for it.
    pub fn push_with(&mut self, what: Outgoing, bytes: &[u8]) -> bool {
        let at = self.kept_first + self.kept.len() as u64;
        let added = self.add(what, Some(at));
        if added {
            self.kept.extend(bytes);
        }
        added
    }

    /// Whether another Start may be coalesced with those that wait: they are fewer than `most`, and all came
    /// with their payload.
    pub fn can_coalesce(&self, most: u64) -> bool {
        self.unsent == 0
            || (self.unsent < most && self.chunks.back().is_some_and(|chunk| chunk.kept.is_some()))
    }

    /// Like `push_with`, but behind others that have not been sent either; allowed only if `can_coalesce`.
    pub fn coalesce(&mut self, what: Outgoing, bytes: &[u8]) -> bool {
        let before = self.unsent;
        let added = self.push_with(what, bytes);
        if added {
            self.unsent += before;
        }
        added
    }

    fn add(&mut self, what: Outgoing, kept: Option<u64>) -> bool {
        let len = match &what {
            Outgoing::Data { payload, .. } => payload.len,
            _ => 1,
        };
        let Some(next) = self.next_pos.checked_add(len) else { return false };
        if len == 0 {
            return false;
        }
        self.chunks.push_back(Chunk { pos: self.next_pos, len, remaining: len, what, kept });
        self.next_pos = next;
        self.unsent = len;
        true
    }

    pub fn has_room(&self) -> bool {
        self.chunks.len() < packets::CHUNKS_MAX && self.acked.gaps() < packets::ACKED_GAPS_MAX
    }

    pub fn chunk(&self, id: u64) -> Option<&Chunk> {
        self.chunks.get(usize::try_from(id.checked_sub(self.first)?).ok()?)
    }

    /// Copies payload that came with a chunk; returns false if the layer above has it instead.
    pub fn copy_kept(&self, chunk: &Chunk, into: &mut [u8]) -> bool {
        let Some(at) = chunk.kept else { return false };
        let bytes = self.kept.range((at - self.kept_first) as usize..);
        into.iter_mut().zip(bytes).for_each(|(into, byte)| *into = *byte);
        true
    }

    /// The first positions that were never sent, all of one chunk.
    pub fn fresh(&self) -> Option<Entry> {
        let last = self.chunks.back().filter(|_| self.unsent > 0)?;
        let end = self.first + self.chunks.len() as u64;
        let pos = self.next_pos - self.unsent;
        if pos >= last.pos {
            let len = u32::try_from(self.unsent).unwrap_or(u32::MAX);
            return Some(Entry { chunk: end - 1, pos, len });
        }
        // Several coalesced chunks wait, each of one position.
        Some(Entry { chunk: end - self.unsent, pos, len: 1 })
    }

    /// The next piece that must be sent again and has not been acknowledged meanwhile.
    pub fn again(&mut self) -> Option<Entry> {
        while let Some(entry) = self.lost.front_mut() {
            let end = entry.pos + u64::from(entry.len);
            match self.acked.first_missing(entry.pos, end) {
                None => drop(self.lost.pop_front()),
                Some((from, to)) => {
                    let part = Entry { pos: from, len: (to - from) as u32, ..*entry };
                    entry.len = (end - from) as u32;
                    entry.pos = from;
                    return Some(part);
                }
            }
        }
        None
    }

    /// Removes the first `len` positions of the piece that `again` gave: they were sent.
    pub fn sent_again(&mut self, len: u32) {
        if let Some(entry) = self.lost.front_mut() {
            entry.pos += u64::from(len);
            entry.len -= len;
            if entry.len == 0 {
                self.lost.pop_front();
            }
        }
    }

    /// Queues the lowest position without acknowledgement to be sent again first, with at most `most`
    /// positions from there on: the receiver needs it most, because it bounds the receiver's gaps.
    pub fn lowest_first(&mut self, most: u32) {
        let base = self.acked.base();
        let unsent = self.next_pos - self.unsent;
        let Some(chunk) = self.chunks.front() else { return };
        let Some((pos, end)) = self.acked.first_missing(base, unsent.min(chunk.pos + chunk.len)) else {
            return;
        };
        let len = u32::try_from(end - pos).unwrap_or(most).min(most);
        self.lost.push_front(Entry { chunk: self.first, pos, len });
    }

    /// Takes note that an entry has been acknowledged; returns the payload of its chunk if that is now
    /// complete.
    pub fn acknowledge(&mut self, entry: Entry) -> Option<Payload> {
        let fresh = self.acked.insert(entry.pos, entry.pos + u64::from(entry.len));
        if fresh == 0 {
            return None;
        }
        let at = usize::try_from(entry.chunk.checked_sub(self.first)?).ok()?;
        let chunk = self.chunks.get_mut(at)?;
        chunk.remaining = chunk.remaining.saturating_sub(fresh);
        let released = if chunk.remaining == 0 { chunk.payload().copied() } else { None };
        while let Some(chunk) = self.chunks.front()
            && chunk.remaining == 0
        {
            let kept = chunk.kept_len();
            self.forget_kept(kept);
            self.chunks.pop_front();
            self.first += 1;
        }
        released
    }

    /// Drops the first `count` kept bytes.
    fn forget_kept(&mut self, count: usize) {
        self.kept_first += count as u64;
        if count == self.kept.len() {
            self.kept.clear();
        } else {
            self.kept.drain(..count);
        }
    }

    /// Whether nothing waits to be sent (as far as is known) or acknowledged.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Number of frames without a complete acknowledgement.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Number of positions assigned since the beginning.
    pub fn taken(&self) -> u64 {
        self.next_pos
    }

    /// Gives everything up; returns the payload that was not released.
    pub fn abandon(&mut self) -> impl Iterator<Item = Payload> + '_ {
        self.lost.clear();
        self.unsent = 0;
        self.first += self.chunks.len() as u64;
        self.forget_kept(self.kept.len());
        let open = self.chunks.drain(..).filter(|chunk| chunk.remaining > 0);
        open.filter_map(|chunk| chunk.payload().copied())
    }

    /// Position below which everything is acknowledged, number of acknowledged ranges above it, and the next
    /// position to be assigned.
    pub fn progress(&self) -> (u64, usize, u64) {
        (self.acked.base(), self.acked.gaps(), self.next_pos)
    }
}
