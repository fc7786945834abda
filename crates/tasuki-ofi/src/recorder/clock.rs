//! How long a program computes between its calls.

use tasuki_tuning::recorder::{ASKED_GAP_NS, WAITING_GAP_NS};

/// Adds up what is computed between calls. Times are nanoseconds.
pub struct Clock {
    /// When the last call ended.
    left: Option<u64>,
    /// The last call found nothing.
    idle: bool,
    /// What the thread had used of the processor when that was asked last.
    used: u64,
    /// Computing that no record has yet.
    computed: u64,
}

impl Clock {
    /// A clock that begins with the next call. `used`: what the thread has used of the processor by now.
    pub fn new(used: u64) -> Clock {
        Clock { left: None, idle: false, used, computed: 0 }
    }

    /// A call begins at this time; `cpu` tells what the thread has used of the processor.
    pub fn enter(&mut self, now: u64, cpu: impl FnOnce() -> u64) {
        let gap = now.saturating_sub(self.left.unwrap_or(now));
        self.left = Some(now);
        if self.idle && gap < WAITING_GAP_NS {
            return;
        }
        self.computed += match gap < ASKED_GAP_NS {
            true => gap,
            false => {
                let used = cpu();
                gap.min(used.saturating_sub(std::mem::replace(&mut self.used, used)))
            }
        };
    }

    /// A call ends at this time.
    pub fn leave(&mut self, now: u64, idle: bool) {
        self.left = Some(now);
        self.idle = idle;
    }

    /// What was computed since the last time.
    pub fn take(&mut self) -> u64 {
        std::mem::take(&mut self.computed)
    }
}

/// The host's monotonic clock.
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// What this thread has used of the processor.
pub fn cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place for the result is valid, and both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_no_computing_and_neither_is_the_time_of_others() {
        let mut clock = Clock::new(0);
        let never = || panic!("not asked for short gaps");
        clock.enter(5_000, never);
        assert_eq!(clock.take(), 0, "what was before the first call is not known");
        clock.leave(6_000, true);
        clock.enter(7_000, never);
        assert_eq!(clock.take(), 0, "it looked again at once");
        clock.leave(7_500, true);
        clock.enter(10_500, never);
        assert_eq!(clock.take(), 3_000, "it did something else before it looked again");
        clock.leave(11_000, false);
        clock.enter(11_500, never);
        assert_eq!(clock.take(), 500, "a call that found something is followed by computing");
        clock.leave(12_000, true);
        clock.enter(112_000, || 40_000);
        assert_eq!(clock.take(), 40_000, "the processor did something else");
        clock.leave(113_000, false);
        clock.enter(213_000, || 240_000);
        assert_eq!(clock.take(), 100_000, "no more than time has passed");
    }
}
