//! How often the engine is entered, and when it last looked at everything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tasuki_proto::Time;
use tasuki_tuning::engine;

/// What the program and the helper thread have done.
#[derive(Default)]
pub(super) struct Activity {
    /// Calls of the program in which it made progress.
    pub program: u64,
    /// Rounds of the helper thread.
    pub helper: u64,
    /// A copy of `program` for threads that do not hold the lock.
    pub entries: Arc<AtomicU64>,
    /// When everything was last polled.
    pub polled: Time,
}

impl Activity {
    /// The program makes progress.
    #[inline(always)]
    pub fn enter(&mut self) {
        self.program += 1;
        self.entries.store(self.program, Ordering::Relaxed);
    }

    /// Whether the program is to make progress while it posts. One that posts long messages one after the
    /// other takes nothing in for a while; it makes progress now and then, so that the helper thread need
    /// not.
    pub fn enter_while_posting(&mut self, now: Time) -> bool {
        let is_behind = now.since_ns(self.polled) >= engine::POSTING_NS;
        if is_behind {
            self.enter();
        }
        is_behind
    }
}
