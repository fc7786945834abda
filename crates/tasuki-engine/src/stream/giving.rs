//! The sending side: what was asked for, straight out of the program's memory.

use std::collections::VecDeque;

use tasuki_link::Stream;

use super::TURN;
use crate::api::Peer;
use crate::core::Core;

/// What is sent to one peer: what it has asked for, in its order.
#[derive(Default)]
pub(crate) struct Giving {
    asked: VecDeque<Asked>,
    /// The kernel took no more last time.
    full: bool,
}

/// Bytes of an offered message that are still to be sent.
struct Asked {
    key: u64,
    offset: u64,
    len: u64,
}

impl Giving {
    pub fn is_at_work(&self) -> bool {
        !self.asked.is_empty()
    }

    /// The peer wants these bytes, behind all that it wanted before.
    pub fn ask(&mut self, key: u64, offset: u64, len: u64) {
        self.asked.push_back(Asked { key, offset, len });
    }

    /// The stream is over.
    pub fn clear(&mut self) {
        (self.asked, self.full) = (VecDeque::new(), false);
    }

    /// Sends what the kernel takes now; how much. `None`: the message is gone in the middle, or the stream is.
    pub fn send(&mut self, core: &Core, peer: Peer, stream: &Stream) -> Option<usize> {
        let mut total = 0;
        if self.full && self.is_at_work() && !stream.has_room() {
            return Some(0);
        }
        self.full = false;
        while let Some(asked) = self.asked.front_mut().filter(|_| total < TURN) {
            // SAFETY: sends under way are read, and nobody writes to their memory.
            let sent = stream.send(unsafe { asked.bytes(core, peer, TURN) }?).ok()?;
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
    /// The next bytes, at most `most`; `None` if they are not this peer's to ask for (any more).
    ///
    /// # Safety
    /// Nobody writes to the memory of sends under way while the result lives.
    unsafe fn bytes<'a>(&self, core: &'a Core, peer: Peer, most: usize) -> Option<&'a [u8]> {
        let send = core.offered_send(self.key, peer)?;
        let end = self.offset.checked_add(self.len)?;
        let base = send.memory.contiguous().filter(|_| self.len > 0 && end <= send.memory.len())?;
        // Both fit: they are inside of the message's memory.
        let (offset, len) = (self.offset as usize, (self.len as usize).min(most));
        // SAFETY: it is inside of the send's memory, which can be read until the send completes; `core` is borrowed meanwhile, so it does not. Nobody
        // writes to it, as the caller says.
        Some(unsafe { std::slice::from_raw_parts(base.wrapping_add(offset), len) })
    }
}
