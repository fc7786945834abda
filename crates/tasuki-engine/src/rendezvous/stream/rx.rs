//! The receiving side of a stream: bytes go straight into the program's memory where that is known, and
//! through a buffer otherwise.

mod sort;

use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::ptr::NonNull;

use tasuki_link::Stream;
use tasuki_msg::{Data, PeerId};
use tasuki_proto::Time;
use tasuki_tuning::streams;

use super::ahead::Ahead;
use super::place::{place_ahead, place_pulled, place_untouched};
use super::record::{HEAD, Head};
use crate::messages::{Messages, PullJob};

/// What is received from one peer.
#[derive(Default)]
pub(super) struct StreamRx {
    /// What was asked for, in order.
    jobs: VecDeque<PullJob>,
    /// Bytes of the first job that are there.
    done: u64,
    /// What is still to come of the record that is arriving.
    record: Option<Head>,
    ahead: Ahead,
    /// Bytes of the stream that are where they belong, heads included.
    received: u64,
    /// Bytes that are where they belong, without heads.
    payload: u64,
    /// When something last arrived, or was first waited for, ns.
    heard: Option<u64>,
    /// When something last arrived, ns.
    arrived_at: Option<u64>,
}

/// What a look at the stream has brought.
struct Read {
    count: usize,
    /// More is most likely there.
    more: bool,
}

impl StreamRx {
    pub fn is_at_work(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Something has arrived lately, so that the next message may begin in the stream.
    pub fn is_hot(&self, now: Time) -> bool {
        self.arrived_within(streams::HOT_NS, now)
    }

    /// Something has arrived in the last `ns` nanoseconds.
    pub fn arrived_within(&self, ns: u64, now: Time) -> bool {
        self.arrived_at.is_some_and(|at| now.0.saturating_sub(at) < ns)
    }

    /// The bytes of a job have been asked for.
    pub fn expect(&mut self, job: PullJob) {
        self.jobs.push_back(job);
    }

    /// Whether nothing of what was asked for has arrived for too long. (Pieces that are to come may travel in
    /// packets; their sender finds out by itself that they do not arrive.)
    pub fn has_stalled(&mut self, now: Time) -> bool {
        if !self.is_at_work() {
            self.heard = None;
            return false;
        }
        now.0.saturating_sub(*self.heard.get_or_insert(now.0)) >= streams::STALLED_NS
    }

    /// Bytes of the stream that are where they belong, heads included.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Receives the bytes that are there, and gives how many, without heads. `None`: the stream is over, or a
    /// receive that waited for it, or it says what makes no sense.
    ///
    /// With `large_segments` few segments come, and a read that finds nothing has the kernel's work for what
    /// arrives meanwhile done on this processor. Otherwise the kernel is asked first, because a read takes a
    /// lock that it needs for each segment.
    pub fn receive(
        &mut self,
        messages: &mut Messages,
        from: PeerId,
        stream: &Stream,
        large_segments: bool,
        now: Time,
    ) -> Option<u64> {
        let before = self.payload;
        let mut total = 0;
        while total < streams::TURN_MAX && (large_segments || stream.has_bytes()) {
            let read = self.read(messages, from, stream)?;
            if read.count == 0 {
                break;
            }
            total += read.count;
            if self.is_between_messages(messages, from) {
                // The beginnings of the next messages may be in packets that wait.
                break;
            }
            if !read.more {
                // Most likely the rest has not arrived yet, and to look for it at once would keep the kernel
                // from receiving it.
                break;
            }
        }
        if total > 0 {
            (self.heard, self.arrived_at) = (Some(now.0), Some(now.0));
        }
        Some(self.payload - before)
    }

    /// All that was announced has come, and all that has come is where it belongs.
    pub fn is_between_messages(&self, messages: &Messages, from: PeerId) -> bool {
        self.record.is_none() && self.ahead.bytes().is_empty() && !self.is_expecting(messages, from)
    }

    /// Something that was announced is still to come.
    fn is_expecting(&self, messages: &Messages, from: PeerId) -> bool {
        self.is_at_work() || messages.outlook().awaited_from(from) > 0
    }

    /// Receives all that the kernel has of a stream that was shut down: it ends with an error.
    pub fn drain(&mut self, messages: &mut Messages, from: PeerId, stream: &Stream) {
        while stream.has_bytes() && self.read(messages, from, stream).is_some_and(|read| read.count > 0) {}
    }

    /// Reads once.
    fn read(&mut self, messages: &mut Messages, from: PeerId, stream: &Stream) -> Option<Read> {
        if self.record.is_none() && self.ahead.bytes().is_empty() {
            while let Some(data) = messages.next_announced(from.into()) {
                if let Some(into) = place_untouched(messages, from, &data) {
                    return self.read_announced(messages, from, stream, &data, into);
                }
            }
        }
        self.read_further(messages, from, stream)
    }

    /// Reads a head and the bytes behind it in one call: most likely those that were announced, which belong
    /// to `into`.
    fn read_announced(
        &mut self,
        messages: &mut Messages,
        from: PeerId,
        stream: &Stream,
        data: &Data,
        mut into: NonNull<[u8]>,
    ) -> Option<Read> {
        let mut head = [0; HEAD];
        // SAFETY: the memory is that of a receive that is under way, and nobody else touches it meanwhile.
        // What is written there is overwritten if it does not belong there.
        let into = unsafe { into.as_mut() };
        let wanted = HEAD + into.len();
        let count = {
            let mut pieces = [IoSliceMut::new(&mut head), IoSliceMut::new(into)];
            stream.receive_vectored(&mut pieces).ok()?
        };
        if count == 0 {
            messages.still_announced(from.into(), *data);
            return Some(Read { count, more: false });
        }
        let more = count == wanted;
        if count > HEAD && Head::read(&head) == Some(Head::Data(*data)) {
            self.record = Some(Head::Data(*data));
            self.received += HEAD as u64;
            self.arrived(messages, from, (count - HEAD) as u64, None)?;
        } else {
            self.ahead.put(&head[..count.min(HEAD)]);
            self.ahead.put(&into[..count.saturating_sub(HEAD)]);
            self.sort_ahead(messages, from)?;
        }
        Some(Read { count, more })
    }

    /// Reads the rest of a record, or heads that were not announced.
    fn read_further(&mut self, messages: &mut Messages, from: PeerId, stream: &Stream) -> Option<Read> {
        let direct = match &self.record {
            Some(Head::Data(data)) => place_ahead(messages, from, data),
            // If the receive is over, there is nowhere to put the next bytes of the stream.
            Some(Head::Pulled(len)) => Some(place_pulled(messages, self.jobs.front()?, self.done, *len)?),
            Some(Head::Start(_)) | None => None,
        };
        let most = match (&self.record, direct) {
            // A head, and what is as quickly copied as read by a call of its own.
            (None | Some(Head::Start(_)), _) | (Some(_), Some(_)) => streams::AHEAD_MAX,
            (Some(head), None) => usize::try_from(head.len()).unwrap_or(usize::MAX).saturating_add(HEAD),
        };
        let room = self.ahead.room(most);
        let room_len = room.len();
        let (count, direct_len) = match direct {
            Some(mut into) => {
                // SAFETY: the memory is that of a receive that is under way, and nobody else touches it
                // meanwhile.
                let into = unsafe { into.as_mut() };
                let len = into.len();
                let mut pieces = [IoSliceMut::new(into), IoSliceMut::new(room)];
                (stream.receive_vectored(&mut pieces).ok()?, len)
            }
            None => (stream.receive(room).ok()?, 0),
        };
        let placed = count.min(direct_len);
        if placed > 0 {
            self.arrived(messages, from, placed as u64, None)?;
        }
        self.ahead.fill(count - placed);
        self.sort_ahead(messages, from)?;
        Some(Read { count, more: count == room_len + direct_len })
    }

    /// The stream is over: all that was asked for goes in packets. Gives how many messages.
    pub fn give_up(&mut self, messages: &mut Messages) -> usize {
        let count = self.jobs.len();
        self.jobs.drain(..).for_each(|job| messages.layer_mut().handle_pulled(job.pull, false));
        *self = StreamRx::default();
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_of_which_nothing_was_asked_never_stalls() {
        let mut rx = StreamRx::default();
        // Pieces that are to come meanwhile may come in packets.
        assert!((1..10).all(|seconds| !rx.has_stalled(Time(seconds * streams::STALLED_NS))));
    }
}
