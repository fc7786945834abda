//! Takes what was read from a stream to where it belongs.

use tasuki_msg::{Data, Frame, PeerId, Start};

use super::StreamRx;
use crate::messages::Messages;
use crate::rendezvous::stream::record::{HEAD, Head, START_MORE};

impl StreamRx {
    /// Takes the bytes that were read ahead to where they belong.
    pub(super) fn sort_ahead(&mut self, messages: &mut Messages, from: PeerId) -> Option<()> {
        loop {
            let Some(record) = &self.record else {
                let Some(head) = self.ahead.head() else { return Some(()) };
                let head = Head::read(head)?;
                if let Head::Data(data) = head {
                    messages.arriving(from.into(), data.seq);
                }
                self.record = Some(head);
                self.ahead.drop_first(HEAD);
                self.received += HEAD as u64;
                continue;
            };
            let count = (self.ahead.bytes().len() as u64).min(record.len());
            let start = if let Head::Start(start) = record { Some(*start) } else { None };
            if count == 0 || (start.is_some() && count < record.len()) {
                return Some(());
            }
            let ahead = std::mem::take(&mut self.ahead);
            let bytes = &ahead.bytes()[..count as usize];
            let arrived = match start {
                Some(start) => self.started(messages, from, start, bytes),
                None => self.arrived(messages, from, count, Some(bytes)),
            };
            self.ahead = ahead;
            self.ahead.drop_first(count as usize);
            arrived?;
        }
    }

    /// The first frame of a message has arrived, with its completion data and payload.
    fn started(&mut self, messages: &mut Messages, from: PeerId, start: Start, bytes: &[u8]) -> Option<()> {
        let (data, payload) = bytes.split_first_chunk::<START_MORE>()?;
        let data = start.data.map(|_| u64::from_le_bytes(*data));
        messages.deliver(from, &Frame::Start(Start { data, ..start }), &payload);
        self.received += bytes.len() as u64;
        self.payload += payload.len() as u64;
        self.record = None;
        Some(())
    }

    /// So many bytes of the record have arrived. They are where they belong, or are `bytes`.
    pub(super) fn arrived(
        &mut self,
        messages: &mut Messages,
        from: PeerId,
        count: u64,
        bytes: Option<&[u8]>,
    ) -> Option<()> {
        self.received += count;
        self.payload += count;
        match self.record.take()? {
            Head::Data(data) => {
                let frame = Frame::Data(Data { len: count, ..data });
                match bytes {
                    Some(bytes) => messages.deliver(from, &frame, &bytes),
                    None => messages.delivered(from, &frame),
                }
                let (offset, len) = (data.offset.checked_add(count)?, data.len - count);
                self.record = (len > 0).then_some(Head::Data(Data { offset, len, ..data }));
            }
            // It is taken whole, elsewhere.
            Head::Start(_) => return None,
            Head::Pulled(len) => {
                let job = *self.jobs.front()?;
                if let Some(bytes) = bytes {
                    messages.write_pulled(&job, self.done, bytes)?;
                }
                self.record = (len > count).then_some(Head::Pulled(len - count));
                self.done += count;
                if self.done >= job.len {
                    messages.layer_mut().handle_pulled(job.pull, true);
                    self.jobs.pop_front();
                    self.done = 0;
                }
            }
        }
        Some(())
    }
}
