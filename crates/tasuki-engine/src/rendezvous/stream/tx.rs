//! The sending side of a stream: the bytes that were asked for, straight out of the program's memory.

use std::collections::VecDeque;

use tasuki_link::Stream;
use tasuki_tuning::streams;

use super::super::context::Context;
use crate::api::Peer;
use crate::messages::Messages;
use crate::rendezvous::keys::RendezvousKey;

/// What one peer has asked for, in order.
#[derive(Default)]
pub(super) struct StreamTx {
    asked: VecDeque<Asked>,
    /// The kernel took no more bytes last time.
    full: bool,
}

/// Bytes of a message that are still to be sent.
struct Asked {
    key: RendezvousKey,
    offset: u64,
    len: u64,
}

impl StreamTx {
    pub fn is_at_work(&self) -> bool {
        !self.asked.is_empty()
    }

    /// The peer wants these bytes, behind all that it wanted before.
    pub fn ask(&mut self, key: RendezvousKey, offset: u64, len: u64) {
        self.asked.push_back(Asked { key, offset, len });
    }

    /// The stream is over.
    pub fn clear(&mut self) {
        (self.asked, self.full) = (VecDeque::new(), false);
    }

    /// Sends the bytes that the kernel takes now, and gives how many. `None`: the message or the stream is
    /// gone.
    pub fn send(&mut self, cx: &Context<'_>, peer: Peer, stream: &Stream) -> Option<usize> {
        let mut total = 0;
        if self.full && self.is_at_work() && !stream.has_room() {
            return Some(0);
        }
        self.full = false;
        while let Some(asked) = self.asked.front_mut().filter(|_| total < streams::TURN_MAX) {
            // SAFETY: nobody writes to the memory of sends under way: programs have promised it.
            let sent = stream.send(unsafe { asked.bytes(cx.messages, peer, streams::TURN_MAX) }?).ok()?;
            if sent == 0 {
                self.full = true;
                break;
            }
            total += sent;
            (asked.offset, asked.len) = (asked.offset + sent as u64, asked.len - sent as u64);
            if asked.len == 0 {
                self.asked.pop_front();
            }
        }
        Some(total)
    }
}

impl Asked {
    /// The next bytes, at most `most`. `None` if the peer may not ask for them (any more).
    ///
    /// # Safety
    /// Nobody writes to the memory of sends under way while the result lives.
    unsafe fn bytes<'a>(&self, messages: &'a Messages, peer: Peer, most: usize) -> Option<&'a [u8]> {
        let RendezvousKey::Stream(number) = self.key else { return None };
        let send = messages.exposed(number, peer)?;
        let end = self.offset.checked_add(self.len)?;
        let base = send.memory.contiguous().filter(|_| self.len > 0 && end <= send.memory.len())?;
        // Both fit into `usize`: they are inside of the message's memory.
        let (offset, len) = (self.offset as usize, (self.len as usize).min(most));
        // SAFETY: the bytes are inside of the send's memory, which can be read until the send completes. It
        // does not complete while `messages` is borrowed. Nobody writes to it, as the caller promises.
        Some(unsafe { std::slice::from_raw_parts(base.wrapping_add(offset), len) })
    }
}
