//! Waiting without sleeping, and the processor time of a thread.

use nix::{
    sched::{CpuSet, sched_setaffinity},
    sys::{
        resource::{UsageWho, getrusage},
        time::TimeValLike,
    },
    unistd::Pid,
};
use std::{
    hint, io, thread,
    time::{Duration, Instant},
};

/// Number of polls per reading of the clock.
const POLLS: u32 = 64;
/// A wait that has lasted this long yields the processor at every poll. If there are more processes than
/// processors, the process that is waited for may need this one.
const YIELD_AFTER: Duration = Duration::from_micros(20);

/// One wait without sleeping.
#[derive(Default)]
pub(super) struct Spin {
    polls: u32,
    since: Option<Instant>,
    long: bool,
}

impl Spin {
    /// Must be called after every poll that found nothing. Every [`POLLS`] calls it returns how long the wait
    /// has lasted.
    pub fn idle(&mut self) -> Option<Duration> {
        if self.long {
            thread::yield_now();
        } else {
            hint::spin_loop();
        }
        self.polls = self.polls.wrapping_add(1);
        if !self.polls.is_multiple_of(POLLS) {
            return None;
        }
        let now = Instant::now();
        let waited = now - *self.since.get_or_insert(now);
        self.long = waited >= YIELD_AFTER;
        Some(waited)
    }
}

/// Keeps the calling thread on one processor.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    sched_setaffinity(Pid::from_raw(0), &set)?;
    Ok(())
}

/// User and system time of this thread so far, seconds. It is that of the thread because a process may hold
/// both peers.
pub(crate) fn cpu_seconds() -> f64 {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else { return 0.0 };
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    micros as f64 * 1e-6
}
