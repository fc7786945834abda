//! `crate::sync` of the files that are modelled: atomics, fences, a mutex and threads that loom watches.

use std::cell::OnceCell;
use std::panic::Location;
use std::sync::Arc;

pub(crate) use std::sync::{PoisonError, TryLockError};

pub(crate) use loom::sync::atomic::Ordering;
pub(crate) use loom::sync::{Mutex, MutexGuard};

pub(crate) use crate::atomic::{AtomicBool, AtomicU32, AtomicU64};
use crate::plan::{self, Kind};

/// A fence of the processor.
#[track_caller]
pub(crate) fn fence(ordering: Ordering) {
    if let Some(ordering) = plan::at(Kind::Fence, ordering, Location::caller()) {
        loom::sync::atomic::fence(ordering);
    }
}

/// A fence of the compiler. With [`membarrier::all`] in another thread it is one of the processor, for that
/// is what membarrier(2) promises: each thread has a full barrier at some moment between the call and its
/// return, and so between any two accesses that the compiler does not exchange.
#[track_caller]
pub(crate) fn compiler_fence(ordering: Ordering) {
    if let Some(ordering) = plan::at(Kind::Fence, ordering, Location::caller()) {
        loom::sync::atomic::fence(ordering);
    }
}

/// `tasuki_sys::membarrier`.
pub(crate) mod membarrier {
    use super::{Kind, Location, Ordering, plan};

    pub(crate) fn is_offered() -> bool {
        true
    }

    pub(crate) fn register() -> bool {
        true
    }

    /// The other half of a [`super::compiler_fence`].
    #[track_caller]
    pub(crate) fn all() -> bool {
        if plan::at(Kind::Fence, Ordering::SeqCst, Location::caller()).is_some() {
            loom::sync::atomic::fence(Ordering::SeqCst);
        }
        true
    }
}

/// `std::sync::OnceLock`, which is trusted and no part of a protocol.
#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    is_set: loom::sync::atomic::AtomicBool,
    value: OnceCell<T>,
}

// SAFETY: loom runs all threads of a model on one thread of the system.
unsafe impl<T> Sync for OnceLock<T> {}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock { is_set: loom::sync::atomic::AtomicBool::new(false), value: OnceCell::new() }
    }
}

impl<T> OnceLock<T> {
    pub(crate) fn get(&self) -> Option<&T> {
        if self.is_set.load(Ordering::Acquire) { self.value.get() } else { None }
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        self.value.set(value)?;
        self.is_set.store(true, Ordering::Release);
        Ok(())
    }
}

/// `std::thread::Thread`, made as the library's own is made of a futex. loom's takes it ill if a thread is
/// unparked that waits for something else.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    thread: loom::thread::Thread,
    token: Arc<loom::sync::atomic::AtomicU32>,
}

const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;
const PARKED: u32 = 2;

loom::thread_local! {
    static TOKEN: Arc<loom::sync::atomic::AtomicU32> = Arc::new(loom::sync::atomic::AtomicU32::new(EMPTY));
}

pub(crate) fn current() -> Thread {
    Thread { thread: loom::thread::current(), token: TOKEN.with(Arc::clone) }
}

/// `std::thread::park`.
pub(crate) fn park() {
    let token = TOKEN.with(Arc::clone);
    if token.compare_exchange(EMPTY, PARKED, Ordering::Acquire, Ordering::Acquire).is_ok() {
        loom::thread::park();
    }
    token.swap(EMPTY, Ordering::Acquire);
}

impl Thread {
    pub(crate) fn unpark(&self) {
        if self.token.swap(NOTIFIED, Ordering::Release) == PARKED {
            self.thread.unpark();
        }
        plan::catch_up();
    }
}
