//! Lanes: the packets that wait at the end of a virtual channel, and the room there as its sender sees it.

use super::plan::{Line, NONE};
use std::collections::VecDeque;

/// The packets of one virtual channel at the end of a channel, or those of a source, and their buffer. It is
/// in a cache line of its own.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Lane {
    pub head: u32,
    pub tail: u32,
    /// When the tail of the packet that left last has gone, ps.
    pub busy: u64,
    /// The next queue that wants the same channel.
    pub beside: u32,
    /// While its head waits: the length of the head, and the lane that it goes to.
    pub bytes: u32,
    pub lane: u32,
    /// Whether its head is among the packets that want their next channel.
    pub waits: bool,
    /// Whether the buffer told its sender to stop.
    pub stopped: bool,
    /// Whether its buffer is limited.
    pub limited: bool,
    /// Whether it is a source, which holds what a host has not sent yet.
    pub source: bool,
    /// Bytes in the buffer, as far as its sender knows.
    pub used: u32,
    /// Number of queues whose heads wait to come here.
    pub wanted: u32,
    /// The first bytes that will become free, and when, ps: `u64::MAX` if none are announced.
    back_bytes: u32,
    back_at: u64,
    /// Bytes sent here since the beginning.
    pub passed: u64,
}

impl Lane {
    const EMPTY: Lane = Lane {
        head: NONE,
        tail: NONE,
        busy: 0,
        beside: NONE,
        bytes: 0,
        lane: 0,
        waits: false,
        stopped: false,
        limited: false,
        source: false,
        used: 0,
        wanted: 0,
        back_bytes: 0,
        back_at: u64::MAX,
        passed: 0,
    };

    /// A source of a host that has sent nothing.
    pub const SOURCE: Lane = Lane { source: true, ..Lane::EMPTY };

    /// An empty lane at the end of a channel.
    pub const fn behind(line: &Line) -> Lane {
        Lane { limited: line.limited, ..Lane::EMPTY }
    }

    /// Whether so many bytes may be sent here.
    #[inline]
    pub fn has_room(&self, bytes: u32, size: u32) -> bool {
        !self.stopped & (self.used + bytes <= size)
    }

    /// Accounts for a packet that is sent here. If buffers say stop, the sender is told to stop when a packet
    /// of the `largest` size might not fit after it.
    #[inline]
    pub fn fill(&mut self, bytes: u32, stops: bool, largest: u32, size: u32) {
        self.passed += u64::from(bytes);
        // An unlimited buffer counts nothing, so it always has room.
        self.used += if self.limited { bytes } else { 0 };
        if stops {
            self.stopped |= self.limited & (self.used.saturating_add(largest) > size);
        }
    }

    /// When the next bytes will become free, ps; `u64::MAX` if none are announced.
    #[inline]
    pub fn next_room(&self) -> u64 {
        self.back_at
    }

    /// Announces bytes that become free at `at`, ps. Room is given back in the order of announcements. If
    /// there is an earlier one, returns false; then the caller must add this one to its list.
    #[inline]
    pub fn announce(&mut self, at: u64, bytes: u32) -> bool {
        let first = self.back_at == u64::MAX;
        if first {
            (self.back_at, self.back_bytes) = (at, bytes);
        }
        first
    }

    /// Takes back the room that has become free by `now`; `more` has the announcements after the first. A
    /// sender that was told to stop may send again when at most `go` bytes are left.
    #[inline]
    pub fn collect(&mut self, now: u64, go: u32, more: &mut VecDeque<(u64, u32)>) {
        while self.back_at <= now {
            self.used -= self.back_bytes;
            self.stopped &= self.used > go;
            (self.back_at, self.back_bytes) = more.pop_front().unwrap_or((u64::MAX, 0));
        }
    }
}
