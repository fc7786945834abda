//! The thread that steps in when the program does not call: a rank that computes must still acknowledge and grant.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::crowd::Crowd;
use crate::endpoint::Inner;
use crate::minder::Minder;

/// The running thread; dropping it stops it.
pub(crate) struct Helper {
    inner: Arc<Inner>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    pub fn start(inner: &Arc<Inner>) -> std::io::Result<Helper> {
        let shared = Arc::clone(inner);
        let thread =
            std::thread::Builder::new().name("tasuki".to_owned()).stack_size(256 << 10).spawn(move || {
                let _service = shared.held.serve();
                without_signals(|| run(&shared));
            })?;
        Ok(Helper { inner: Arc::clone(inner), thread: Some(thread) })
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.inner.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It need not sleep to the end of its nap.
            thread.thread().unpark();
            // A panic there has been reported; there is nothing to be saved.
            let _ = thread.join();
        }
    }
}

/// The program's signals are for the program's own threads.
pub(crate) fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    let all = nix::sys::signal::SigSet::all();
    let _ = all.thread_set_mask();
    work()
}

fn run(inner: &Inner) {
    let mut absence = Absence::new(inner.entries.load(Ordering::Relaxed));
    let (mut away, mut crowd, mut looks) = (false, Crowd::default(), 0u32);
    let mut minder = Minder::new();
    while !inner.stop.load(Ordering::Acquire) {
        let nap = absence.nap();
        if away {
            // Nobody else reads the sockets, so a packet may wake us.
            minder.leave(&inner.held);
            inner.sleeper.sleep(nap);
        } else {
            pause(inner, &mut minder, nap);
        }
        if crate::dump::asked() {
            describe(inner);
        }
        if looks.is_multiple_of(CROWD_EVERY) || minder.is_kept_off(&inner.held) {
            let excess = crowd.excess();
            absence.crowd = excess > 0;
            // This thread is one of those who run.
            minder.crowd = excess > 1;
        }
        looks = looks.wrapping_add(1);
        away = absence.is_away(inner.entries.load(Ordering::Relaxed), inner.waits.load(Ordering::Relaxed));
        if !away {
            continue;
        }
        // Whoever holds the lock is making progress.
        if let Some(mut state) = inner.lock.visit() {
            state.helped += 1;
            state.progress();
            state.prepare_to_sleep();
        }
    }
}

/// Naps for so long, or until the endpoint is closed, and meanwhile looks after what is held.
fn pause(inner: &Inner, minder: &mut Minder, nap: Duration) {
    let end = Instant::now() + nap;
    loop {
        minder.tend(&inner.held, &inner.lock, inner.clock.now());
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || inner.stop.load(Ordering::Acquire) {
            return;
        }
        std::thread::park_timeout(minder.nap(left));
    }
}

/// Prints what a watchdog wants to know, as soon as nobody is inside.
fn describe(inner: &Inner) {
    while !inner.stop.load(Ordering::Acquire) {
        if let Some(state) = inner.lock.visit() {
            return eprintln!("{}", state.describe());
        }
        std::thread::sleep(BUSY);
    }
}

/// Whether the program has gone, to do something else.
///
/// A program that has not called may compute, or wait for a processor: with more ranks than cores that is what those do that wait for a
/// message, and whoever steps in for them takes the processor from those who work. Which of the two it is its last call tells.
struct Absence {
    entries: u64,
    lasts: Duration,
    nap: Duration,
    /// More want to run than there are processors.
    crowd: bool,
}

/// A program that was given something at its last call and has not called since then computes.
const BUSY: Duration = Duration::from_millis(1);
/// One that was given nothing will call again as soon as it gets a processor, or else computes.
const WAITING: Duration = Duration::from_millis(20);
/// In a crowd it waits longer for one.
const WAITING_IN_A_CROWD: Duration = Duration::from_millis(100);
/// Longest time between two looks at a program that calls: every look interrupts something.
const NAP_MAX: Duration = Duration::from_millis(2);
/// The same in a crowd, and between two looks at one that was given nothing: the looks of many helpers take the processors from their programs.
const NAP_IN_A_CROWD: Duration = Duration::from_millis(16);
/// Whether there is a crowd is asked at every so-manieth look.
const CROWD_EVERY: u32 = 8;

impl Absence {
    fn new(entries: u64) -> Absence {
        Absence { entries, lasts: Duration::ZERO, nap: BUSY, crowd: false }
    }

    /// How long to sleep before the next look.
    fn nap(&self) -> Duration {
        self.nap
    }

    /// After that nap: how often the program has called so far, and whether it was given nothing at last.
    fn is_away(&mut self, entries: u64, waits: bool) -> bool {
        if entries != self.entries {
            (self.entries, self.lasts) = (entries, Duration::ZERO);
            self.nap = (self.nap * 2).min(if self.crowd { NAP_IN_A_CROWD } else { NAP_MAX });
            return false;
        }
        self.lasts += self.nap;
        let patience = match (waits, self.crowd) {
            (false, _) => BUSY,
            (true, false) => WAITING,
            (true, true) => WAITING_IN_A_CROWD,
        };
        let away = self.lasts >= patience;
        self.nap = if waits && self.crowd && !away { NAP_IN_A_CROWD } else { BUSY };
        away
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time until it is held to be away, of a program that calls no more.
    fn found_after(absence: &mut Absence, waits: bool) -> Duration {
        let (entries, mut slept) = (absence.entries, Duration::ZERO);
        loop {
            slept += absence.nap();
            if absence.is_away(entries, waits) {
                return slept;
            }
        }
    }

    #[test]
    fn who_computes_is_stepped_in_for_soon_who_waits_for_a_processor_late() {
        let mut absence = Absence::new(0);
        for entries in 1..10 {
            assert!(!absence.is_away(entries, entries % 2 == 0));
        }
        assert_eq!(found_after(&mut absence, false), NAP_MAX);
        assert!(!absence.is_away(10, true), "it is back");
        assert!((WAITING..WAITING + NAP_MAX).contains(&found_after(&mut absence, true)));
    }

    #[test]
    fn in_a_crowd_there_are_few_looks() {
        let mut absence = Absence::new(0);
        absence.crowd = true;
        let slept: Duration = (1..100)
            .map(|entries| {
                assert!(!absence.is_away(entries, true));
                absence.nap()
            })
            .sum();
        assert!(slept > NAP_IN_A_CROWD * 90);
        assert!(found_after(&mut absence, false) <= NAP_IN_A_CROWD, "who computes is stepped in for");
        assert!(!absence.is_away(100, true));
        let patience = WAITING_IN_A_CROWD..WAITING_IN_A_CROWD + NAP_IN_A_CROWD;
        assert!(patience.contains(&found_after(&mut absence, true)));
    }
}
