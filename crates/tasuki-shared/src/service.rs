//! The two threads that serve: one answers page faults, one takes messages.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use tasuki_dsm::Access;
use tasuki_engine::{Completion, Endpoint};

use crate::core::Core;
use crate::error::Lost;
use crate::segment::Segment;

/// The longest that the thread of messages sleeps: so long after its end is asked for it ends.
const LONGEST: Duration = Duration::from_millis(50);
/// Completions that are taken at a time.
const AT_A_TIME: usize = 64;

/// What both threads and the program's threads use.
pub(crate) struct Inner {
    /// Closed before `core`, in whose buffers it writes, is dropped: fields are dropped in this order.
    pub endpoint: Endpoint,
    pub core: Mutex<Core>,
    /// A lock, a barrier or the end has come.
    pub changed: Condvar,
    pub segment: Segment,
    /// The threads are to end.
    pub ending: AtomicBool,
    /// Wakes the thread of faults: it is to end, or something is due.
    pub bell: EventFd,
    pub on_loss: fn(&str),
}

impl Inner {
    pub fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something under the lock, and tells the program if the memory is lost by it.
    pub fn with<T>(
        &self,
        does: impl FnOnce(&mut Core, &Endpoint, &Segment) -> Result<T, String>,
    ) -> Result<T, Lost> {
        let mut core = self.lock();
        if let Some(reason) = &core.lost {
            return Err(Lost(reason.clone()));
        }
        let result = does(&mut core, &self.endpoint, &self.segment);
        let result = result.and_then(|value| core.flush(&self.endpoint).map(|()| value));
        if let Err(reason) = &result {
            // Under the lock: where this ends the process, no thread learns of the loss in another way and
            // ends it with success.
            (self.on_loss)(reason);
            core.lost = Some(reason.clone());
        }
        let news = std::mem::take(&mut core.news) || result.is_err();
        drop(core);
        if news {
            self.changed.notify_all();
        }
        result.map_err(Lost)
    }

    /// Waits under the lock until `ready` gives something.
    pub fn wait<T>(&self, mut ready: impl FnMut(&mut Core) -> Option<T>) -> Result<T, Lost> {
        let mut core = self.lock();
        loop {
            if let Some(reason) = &core.lost {
                return Err(Lost(reason.clone()));
            }
            if let Some(value) = ready(&mut core) {
                return Ok(value);
            }
            core = self.changed.wait(core).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }
}

/// This thread goes before threads that compute, where the user may ask for that: others wait for each of its
/// answers, which take microseconds, and would wait for a slice of time of a thread that computes.
fn go_first() {
    let _ = tasuki_sys::priority::raise();
}

/// The thread that answers page faults of this process.
pub(crate) fn answer_faults(inner: &Inner) {
    go_first();
    let mut faults = Vec::new();
    let mut due = None;
    while !inner.is_ending() {
        let mut ready =
            [inner.segment.faults.as_fd(), inner.bell.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        // An error (a signal) is a wake-up like any other.
        let _ = ppoll(&mut ready, due.map(|ns| Duration::from_nanos(ns).into()), None);
        if ready[1].any() == Some(true) {
            let _ = inner.bell.read();
        }
        let read = inner.segment.faults.read(|fault| faults.push(fault));
        let result = inner.with(|core, endpoint, segment| {
            read.map_err(|error| format!("page faults cannot be read: {error}"))?;
            for fault in faults.drain(..) {
                let Some(page) = segment.page_of(fault.address) else { continue };
                if let Some(watch) = &core.watch {
                    watch.fault(fault.address, fault.writes, fault.thread);
                }
                let access = if fault.writes { Access::Write } else { Access::Read };
                core.prefetch.fault(page, access);
                core.fault(page, access, endpoint, segment)?;
            }
            core.ask_early(endpoint, segment)?;
            core.tick(endpoint, segment)
        });
        match result {
            Ok(next) => due = next,
            Err(_) => return,
        }
    }
}

/// The thread that takes messages of other processes.
pub(crate) fn take_messages(inner: &Inner) {
    go_first();
    let mut completions: Vec<Completion> = Vec::with_capacity(AT_A_TIME);
    let mut due: Option<u64> = None;
    while !inner.is_ending() {
        inner.endpoint.wait(Some(due.map_or(LONGEST, |ns| LONGEST.min(Duration::from_nanos(ns)))));
        inner.endpoint.poll_many(AT_A_TIME, |completion| completions.push(completion));
        let result = inner.with(|core, endpoint, segment| {
            for completion in completions.drain(..) {
                core.complete(&completion, endpoint, segment)?;
            }
            core.tick(endpoint, segment)
        });
        match result {
            Ok(next) => due = next,
            Err(_) => return,
        }
    }
}
