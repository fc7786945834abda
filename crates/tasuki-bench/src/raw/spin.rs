//! Waiting without sleeping, and what it costs.

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

/// Polls between two looks at the clock.
const POLLS: u32 = 64;
/// After so long without anything the processor is offered to others at every poll: with more processes than
/// processors the one that is waited for may be waiting for this one's.
const YIELD_AFTER: Duration = Duration::from_micros(20);

/// One wait.
#[derive(Default)]
pub(super) struct Spin {
    polls: u32,
    since: Option<Instant>,
    long: bool,
}

impl Spin {
    /// To be called after every poll that found nothing. Now and then it returns how long the wait has been.
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

/// User and system seconds of this thread so far. Of the thread: a process may hold both peers.
pub(crate) fn cpu_seconds() -> f64 {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else { return 0.0 };
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    micros as f64 * 1e-6
}
