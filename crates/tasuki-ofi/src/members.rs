//! Endpoints behind a queue or counter: who looks at it makes them progress.

use std::cell::UnsafeCell;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use crate::ep::EpShared;
use crate::queue::Reader;

/// Longest sleep at a time. Completions that another thread has taken in, and signals, are noticed after it.
pub const SLICE: Duration = Duration::from_millis(10);
/// As [`SLICE`], where several endpoints must be looked after, of which only one can be slept on.
const SHARED_SLICE: Duration = Duration::from_millis(1);

/// Each is a reference for as long as the endpoint is open: a weak one would cost two locked instructions at every look.
#[derive(Default)]
pub struct Members {
    list: UnsafeCell<Vec<Arc<EpShared>>>,
    lock: RwLock<()>,
    /// Looking takes no lock: see [`Members::of_one_caller`].
    alone: bool,
}

// SAFETY: the list is changed with the lock held for writing, and read with it held for reading, or not at the same time as anything else.
unsafe impl Sync for Members {}

impl Members {
    /// A list for a program that never makes two calls at once.
    ///
    /// # Safety
    /// No two threads call its functions at the same time.
    pub unsafe fn of_one_caller() -> Members {
        Members { alone: true, ..Members::default() }
    }

    fn read<R>(&self, look: impl FnOnce(&[Arc<EpShared>]) -> R) -> R {
        let guard = (!self.alone).then(|| self.lock.read().unwrap_or_else(|poisoned| poisoned.into_inner()));
        // SAFETY: nobody changes it meanwhile: by the lock, or by the promise of one caller, and what `look` does with an endpoint binds and
        // closes none.
        let result = look(unsafe { &*self.list.get() });
        drop(guard);
        result
    }

    fn write(&self, change: impl FnOnce(&mut Vec<Arc<EpShared>>)) {
        let _guard = self.lock.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: nobody else has it: by the lock, or by the promise of one caller.
        change(unsafe { &mut *self.list.get() });
    }

    /// Adds an endpoint, once.
    pub fn add(&self, ep: &Arc<EpShared>) {
        self.write(|members| {
            if !members.iter().any(|member| Arc::ptr_eq(member, ep)) {
                members.push(ep.clone());
            }
        });
    }

    /// An endpoint closes.
    pub fn remove(&self, ep: &Arc<EpShared>) {
        self.write(|members| members.retain(|member| !Arc::ptr_eq(member, ep)));
    }

    /// The only one, of a program that never makes two calls at once: it may be glanced at.
    #[inline(always)]
    pub fn only(&self) -> Option<&EpShared> {
        if !self.alone {
            return None;
        }
        // SAFETY: nobody changes it while the program's call lasts, by the promise of one caller.
        match unsafe { &*self.list.get() }.as_slice() {
            [ep] => Some(ep),
            _ => None,
        }
    }

    /// Takes in what has arrived, and reports what has completed.
    pub fn progress(&self, mut reader: Option<&mut Reader<'_>>) {
        self.each(|ep| ep.progress(reader.as_deref_mut()));
    }

    /// Whether `test` holds for one that is open.
    pub fn any(&self, test: impl Fn(&EpShared) -> bool) -> bool {
        self.read(|members| members.iter().any(|ep| test(ep)))
    }

    /// Calls `visit` for every endpoint that is open.
    pub fn each(&self, mut visit: impl FnMut(&EpShared)) {
        self.read(|members| members.iter().for_each(|ep| visit(ep)));
    }

    /// Sleeps for at most `limit`, until something may have happened.
    pub fn wait(&self, limit: Duration) {
        let (first, several) = self.read(|members| (members.first().cloned(), members.len() > 1));
        match first {
            Some(ep) => ep.wait(limit.min(if several { SHARED_SLICE } else { SLICE })),
            None => std::thread::sleep(limit.min(SHARED_SLICE)),
        }
    }
}
