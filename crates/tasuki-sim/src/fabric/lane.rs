//! Lanes: what waits at the end of a virtual channel, and the room there as its sender sees it.

use super::FlowControl;
use super::plan::NONE;
use std::collections::VecDeque;

/// The packets of one virtual channel at the end of a channel, or of a source, and their buffer. In a cache line of its own.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Lane {
    pub head: u32,
    pub tail: u32,
    /// When the tail of the packet that left last is gone.
    pub busy: u64,
    /// The next queue that wants the same channel.
    pub beside: u32,
    /// Of its head, while that waits: length, and the lane that it goes to.
    pub bytes: u32,
    pub lane: u32,
    /// Whether its head is among those that want their next channel.
    pub waits: bool,
    /// Whether the buffer told its sender to stop.
    pub stopped: bool,
    /// Bytes in the buffer, as far as its sender knows.
    pub used: u32,
    /// Heads of queues that want to come here and wait.
    pub wanted: u32,
    /// The first bytes that become free, and when: `u64::MAX` if none are announced.
    back_bytes: u32,
    back_at: u64,
}

impl Lane {
    pub const EMPTY: Lane = Lane {
        head: NONE,
        tail: NONE,
        busy: 0,
        beside: NONE,
        bytes: 0,
        lane: 0,
        waits: false,
        stopped: false,
        used: 0,
        wanted: 0,
        back_bytes: 0,
        back_at: u64::MAX,
    };

    /// Whether so many bytes may be sent here.
    #[inline]
    pub fn has_room(&self, bytes: u32, size: u32) -> bool {
        !self.stopped && self.used + bytes <= size
    }

    /// When the next bytes become free; `u64::MAX` if none are announced.
    #[inline]
    pub fn next_room(&self) -> u64 {
        self.back_at
    }

    /// Bytes become free at `at`, ps. Room is given back in the order of the announcements; `more` has those after the first.
    #[inline]
    pub fn announce(&mut self, at: u64, bytes: u32, more: &mut VecDeque<(u64, u32)>) {
        if self.back_at == u64::MAX {
            (self.back_at, self.back_bytes) = (at, bytes);
        } else {
            more.push_back((at, bytes));
        }
    }

    /// Takes back what has become free by `now`.
    #[inline]
    pub fn collect(&mut self, now: u64, flow: FlowControl, more: &mut VecDeque<(u64, u32)>) {
        while self.back_at <= now {
            self.used -= self.back_bytes;
            if let FlowControl::GoAndStop { go } = flow {
                self.stopped &= self.used > go;
            }
            (self.back_at, self.back_bytes) = more.pop_front().unwrap_or((u64::MAX, 0));
        }
    }
}
