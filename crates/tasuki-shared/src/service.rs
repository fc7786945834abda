//! The two threads that serve: one answers page faults, one takes messages.

use std::ops::{Deref, DerefMut};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::EventFd;
use tasuki_dsm::Access;
use tasuki_engine::{Completion, Endpoint};
use tasuki_sys::futex;
use tasuki_sys::signals::Held;

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
    /// Counts how often something has come for which the program's threads may wait: a lock, a barrier, the
    /// end. They sleep at this number without the lock, and with their signals as the program wants them.
    pub changed: AtomicU32,
    pub segment: Segment,
    /// The threads are to end.
    pub ending: AtomicBool,
    /// Wakes the thread of faults: it is to end, or something is due.
    pub bell: EventFd,
    pub on_loss: fn(&str),
}

/// The state in the hands of a thread of the program, whose signals wait meanwhile: a handler that touched a
/// page which is elsewhere would wait for the thread that answers faults, and that one for the lock.
pub(crate) struct Locked<'a> {
    // Given back first: fields are dropped in this order.
    core: MutexGuard<'a, Core>,
    _held: Held,
}

impl Deref for Locked<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        &mut self.core
    }
}

impl Inner {
    /// The state, for a thread of the program.
    pub fn lock(&self) -> Locked<'_> {
        let held = Held::all();
        Locked { core: self.core.lock().unwrap_or_else(PoisonError::into_inner), _held: held }
    }

    /// Does something under the lock, for a thread of the program, and tells it if the memory is lost by it.
    /// Its signals wait meanwhile, as those of [`Locked`].
    pub fn with<T>(
        &self,
        does: impl FnOnce(&mut Core, &Endpoint, &Segment) -> Result<T, String>,
    ) -> Result<T, Lost> {
        let _held = Held::all();
        self.serve(does)
    }

    /// As [`Inner::with`], for a thread that gets no signals.
    fn serve<T>(
        &self,
        does: impl FnOnce(&mut Core, &Endpoint, &Segment) -> Result<T, String>,
    ) -> Result<T, Lost> {
        let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = &core.lost {
            return Err(Lost(reason.clone()));
        }
        let result = does(&mut core, &self.endpoint, &self.segment);
        let result = result.and_then(|value| core.flush(&self.endpoint).map(|()| value));
        if let Err(reason) = &result {
            core.tell_loss(reason, &self.endpoint);
            // Under the lock: where this ends the process, no thread learns of the loss in another way and
            // ends it with success.
            (self.on_loss)(reason);
            core.lost = Some(reason.clone());
        }
        let news = std::mem::take(&mut core.news) || result.is_err();
        drop(core);
        if news {
            self.changed.fetch_add(1, Ordering::Release);
            futex::wake_all(&self.changed);
        }
        result.map_err(Lost)
    }

    /// Waits until `ready` gives something, which is called under the lock.
    pub fn wait<T>(&self, mut ready: impl FnMut(&mut Core) -> Option<T>) -> Result<T, Lost> {
        loop {
            // Before the look: what comes after it changes the number, and is not slept through.
            let seen = self.changed.load(Ordering::Acquire);
            let mut core = self.lock();
            if let Some(reason) = &core.lost {
                return Err(Lost(reason.clone()));
            }
            if let Some(value) = ready(&mut core) {
                return Ok(value);
            }
            drop(core);
            futex::wait(&self.changed, seen);
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
        let result = inner.serve(|core, endpoint, segment| {
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
        let result = inner.serve(|core, endpoint, segment| {
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
