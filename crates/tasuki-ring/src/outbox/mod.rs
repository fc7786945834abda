//! The sender's end of a ring.

mod open;
mod push;

use crate::Token;
use crate::file::{Holder, SharedFile};
use crate::layout::*;
use crate::map::Map;
use crate::sync::{AtomicU64, Ordering, fence};

pub use push::{Line, Room};

/// Sender's end of one ring in a peer's segment. Dropping it tells the receiver, which still gets all that
/// was pushed.
pub struct Outbox {
    token: Token,
    map: Map,
    file: SharedFile,
    geometry: Geometry,
    index: usize,
    /// Bytes pushed.
    head: u64,
    /// Bytes consumed, as last read. The cache line in which the receiver tells it is only read when room
    /// seems to be short.
    tail: u64,
    /// The word at this position is zero already, so that a record that ends there can be published without
    /// touching another cache line.
    zeroed: u64,
    /// Dual copies begun here.
    dual_copies: u16,
    /// The receiver's index was impossible.
    broken: bool,
}

impl Outbox {
    #[inline]
    fn slot(&self) -> usize {
        self.geometry.slot(self.index)
    }

    /// Rings the doorbell, unless it is still rung.
    #[cold]
    fn ring_bell(&self) {
        let (bell, bit) = self.bell();
        // A bell that is still rung need not be rung again: the receiver looks at the ring after it has taken
        // the bell's bit back, and so after what was published before this load.
        if bell.load(Ordering::SeqCst) & bit == 0 {
            self.ring_bell_anew();
        }
    }

    /// Rings the doorbell, also if its bit is set. The slot's last sender may have set it and died before it
    /// could tell the receiver, which then never takes it back.
    fn ring_bell_anew(&self) {
        let (bell, bit) = self.bell();
        bell.fetch_or(bit, Ordering::AcqRel);
        self.map.word(AT_RUNG).fetch_or(1 << (self.index / 64), Ordering::AcqRel);
    }

    /// The word that has this sender's doorbell, and its bit there.
    #[inline]
    fn bell(&self) -> (&AtomicU64, u64) {
        (self.map.word(self.geometry.bell(self.index / 64)), 1 << (self.index % 64))
    }

    /// The segment's name.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The largest record, in bytes.
    pub fn max_record(&self) -> usize {
        self.geometry.max_record()
    }

    /// Whether nothing will ever go through any more: the receiver has shut the slot or closed its segment,
    /// or its indices are corrupt.
    pub fn is_shut(&self) -> bool {
        self.broken
            || !self.map.is_here()
            || self.map.half(self.slot() + SLOT_SHUT).load(Ordering::Acquire) != 0
            || self.map.half(AT_CLOSED).load(Ordering::Acquire) != 0
    }

    /// Whether everything pushed has been received.
    pub fn is_drained(&self) -> bool {
        self.map.is_here() && self.map.word(self.slot() + SLOT_TAIL).load(Ordering::Acquire) == self.head
    }

    /// Whether the owner's process still lives and has its segment open (one system call).
    pub fn alive(&self) -> bool {
        // An owner of which the kernel cannot say anything is not held to be dead.
        self.map.is_here()
            && self.map.half(AT_CLOSED).load(Ordering::Acquire) == 0
            && self.file.holder(LOCK_OWNER).unwrap_or(Holder::This) != Holder::Nobody
    }

    pub(crate) fn map(&self) -> &Map {
        &self.map
    }

    /// The word at `at` of this sender's slot.
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        self.map.word(self.slot() + at)
    }

    /// A number for a dual copy. Numbers come again after 65,536 copies; the copy that had it before is
    /// forgotten by then, since the ring has no room for so many offers.
    pub(crate) fn next_dual_copy(&mut self) -> u16 {
        self.dual_copies = self.dual_copies.wrapping_add(1);
        self.dual_copies
    }

    /// The process id of the segment's owner, in the PID namespace of this process (one system call).
    pub fn owner_pid(&self) -> Option<libc::pid_t> {
        match self.file.holder(LOCK_OWNER).ok()? {
            Holder::Nobody => None,
            Holder::This => libc::pid_t::try_from(std::process::id()).ok(),
            // The kernel translates this id into our PID namespace; the id that the owner wrote into the
            // header it does not.
            Holder::Other(pid) if pid > 0 => Some(pid),
            Holder::Other(_) => libc::pid_t::try_from(self.map.half(AT_PID).load(Ordering::Relaxed)).ok(),
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        if self.map.is_here() && self.index != usize::MAX {
            self.map.half(self.slot() + SLOT_STATE).store(CLOSED, Ordering::Release);
            fence(Ordering::SeqCst);
            self.ring_bell();
            self.file.unlock(LOCK_SLOTS + self.index as i64);
        }
    }
}
