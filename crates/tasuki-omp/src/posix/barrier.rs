//! Barriers of pthreads in shared memory. libc makes them, and its words are used as it leaves them: all are
//! zero but the number of threads (`struct pthread_barrier` of glibc 2.25 and newer).

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::work::until;

/// The beginning of libc's `pthread_barrier_t`.
#[repr(C)]
pub struct Barrier {
    /// Threads that have come in this round, and in the upper half the number of the round.
    state: AtomicU64,
    /// Threads that wait for one another.
    count: u32,
    _unused: u32,
    /// Threads that have come and have not gone on yet.
    inside: AtomicU32,
}

/// The barrier of a program in shared memory.
pub fn barrier<'a>(at: *mut libc::pthread_barrier_t) -> &'a Barrier {
    // SAFETY: the program gives the place of a barrier, which it uses by functions of pthreads alone.
    unsafe { &*at.cast() }
}

impl Barrier {
    /// Waits for the other threads of the round; the last one is told so.
    pub fn wait(&self) -> c_int {
        self.inside.fetch_add(1, Ordering::AcqRel);
        let mut before = self.state.load(Ordering::Acquire);
        let is_last = loop {
            let (round, came) = (before >> 32, before as u32 + 1);
            let is_last = came >= self.count;
            let after = if is_last { (round + 1) << 32 } else { before + 1 };
            match self.state.compare_exchange_weak(before, after, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break is_last,
                Err(now) => before = now,
            }
        };
        if !is_last {
            until(|| self.state.load(Ordering::Acquire) >> 32 != before >> 32);
        }
        self.inside.fetch_sub(1, Ordering::AcqRel);
        if is_last { libc::PTHREAD_BARRIER_SERIAL_THREAD } else { 0 }
    }

    /// Waits until no thread uses its memory any more.
    pub fn destroy(&self) -> c_int {
        until(|| self.inside.load(Ordering::Acquire) == 0);
        0
    }
}
