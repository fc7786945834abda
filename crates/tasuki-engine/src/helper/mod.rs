//! The helper thread: it steps in when the program does not call, because a rank that computes must still
//! acknowledge and grant.

mod absence;
pub(crate) mod watchdog;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tasuki_sys::clock;
use tasuki_tuning::helper;

use crate::inner::Inner;
use crate::threads::without_signals;
use absence::{Absence, Activity};
use watchdog::Watchdog;

/// The running thread. Dropping this stops it.
pub(crate) struct Helper {
    inner: Arc<Inner>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    pub fn start(inner: &Arc<Inner>) -> std::io::Result<Helper> {
        let shared = Arc::clone(inner);
        let thread =
            std::thread::Builder::new().name("tasuki".to_owned()).stack_size(256 << 10).spawn(move || {
                let _serving = shared.coalesce_watch.serve();
                without_signals(|| run(&shared));
            })?;
        Ok(Helper { inner: Arc::clone(inner), thread: Some(thread) })
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.inner.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // Wake the thread, so that this one need not wait until its nap has ended.
            thread.thread().unpark();
            // A panic of the thread has been reported on stderr; there is nothing to be saved.
            let _ = thread.join();
        }
    }
}

fn run(inner: &Inner) {
    let mut absence = Absence::new(activity(inner));
    let (mut away, mut rounds) = (false, 0u32);
    let mut watchdog = Watchdog::new();
    while !inner.stop.load(Ordering::Acquire) {
        let nap = absence.nap();
        if away {
            // Nobody else reads the sockets, so a packet may wake this thread.
            watchdog.leave(&inner.coalesce_watch);
            inner.sleeper.sleep(nap);
        } else {
            pause(inner, &mut watchdog, nap);
        }
        if crate::dump::asked() {
            describe(inner);
        }
        if rounds.is_multiple_of(helper::ASK_EVERY) || watchdog.is_kept_off(&inner.coalesce_watch) {
            // This thread runs only because it asks, so the answer must not count it (last argument).
            let excess = inner.processors.recent_excess(inner.clock.now(), helper::LEARNT_FOR_NS, 1);
            (absence.oversubscribed, watchdog.oversubscribed) = (excess > 0, excess > 0);
        }
        rounds = rounds.wrapping_add(1);
        away = absence.is_away(activity(inner));
        if away {
            // If the lock is taken, the program is there; packets that it has not taken in would wake this
            // thread again and again.
            match inner.lock.visit() {
                Some(mut engine) => engine.progress_by_helper(),
                None => away = false,
            }
        }
    }
}

/// What the program has done so far. Must be called by the helper thread, whose own time is none of the
/// program's.
fn activity(inner: &Inner) -> Activity {
    Activity {
        calls: inner.entries.load(Ordering::Relaxed),
        waits: inner.waits.load(Ordering::Relaxed),
        used: clock::process_time().saturating_sub(clock::thread_time()),
    }
}

/// Naps for so long, or until the endpoint is closed, and meanwhile looks after coalesced messages.
fn pause(inner: &Inner, watchdog: &mut Watchdog, nap: Duration) {
    let end = Instant::now() + nap;
    loop {
        watchdog.tend(&inner.coalesce_watch, &inner.lock, inner.clock.now());
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || inner.stop.load(Ordering::Acquire) {
            return;
        }
        std::thread::park_timeout(watchdog.nap(left));
    }
}

/// Prints a description of the endpoint as soon as the lock is free.
fn describe(inner: &Inner) {
    while !inner.stop.load(Ordering::Acquire) {
        if let Some(engine) = inner.lock.visit() {
            return eprintln!("{}", engine.describe());
        }
        std::thread::sleep(helper::COMPUTING);
    }
}
