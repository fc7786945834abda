//! Counts of completed operations.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::members::{Member, Members};

/// Kind of count: operations that have succeeded.
pub const DONE: bool = true;
/// Kind of count: operations that have failed.
pub const FAILED: bool = false;

/// Two counts, and the endpoints of type `E` whose operations they count.
pub struct Counter<E> {
    done: AtomicU64,
    failed: AtomicU64,
    /// Messages are counted, not one-sided operations alone.
    messages: AtomicBool,
    /// Endpoints whose operations are counted: reading the counter makes them progress.
    pub members: Members<E>,
}

impl<E> Default for Counter<E> {
    fn default() -> Counter<E> {
        Counter {
            done: AtomicU64::default(),
            failed: AtomicU64::default(),
            messages: AtomicBool::default(),
            members: Members::default(),
        }
    }
}

impl<E: Member> Counter<E> {
    /// The count of this kind.
    pub fn of(&self, kind: bool) -> &AtomicU64 {
        if kind == DONE { &self.done } else { &self.failed }
    }

    /// Counts an operation that is over.
    pub fn count(&self, success: bool) {
        self.of(success).fetch_add(1, Ordering::Release);
    }

    /// The counter is bound to messages.
    pub fn count_messages(&self) {
        self.messages.store(true, Ordering::Release);
    }

    /// Makes progress if that can change the counts. MPICH reads the counter of its one-sided operations
    /// after each read of its queue, which has just made progress.
    pub fn progress(&self) {
        if self.messages.load(Ordering::Acquire) || self.members.any(E::accesses) {
            self.members.progress(None);
        }
    }
}
