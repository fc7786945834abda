//! The endpoints that report to a queue or counter: reading it makes them progress.

use std::cell::UnsafeCell;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use crate::abi::FiAddr;
use crate::entries::Reader;
use crate::recorder::Recorder;
use tasuki_tuning::provider;

/// What queues, counters and address vectors ask of an endpoint that is bound to them.
pub trait Member {
    /// Takes in what has arrived, and reports what has completed: to the reader of a completion queue, which
    /// `reader` makes if there may be something, if the completion is for that queue. `None`: there is
    /// nothing.
    fn poll<'a>(&'a self, reader: impl FnOnce() -> Reader<'a>) -> Option<Reader<'a>>;

    /// Takes in what has arrived, and reports what has completed: to the reader, if the completion is for the
    /// reader's queue.
    fn progress(&self, reader: Option<&mut Reader<'_>>);

    /// Sleeps until something may have happened, for at most `limit`.
    fn wait(&self, limit: Duration);

    /// Whether one-sided operations of this side are under way.
    fn accesses(&self) -> bool;

    /// What writes its messages down, if the environment asks for it.
    fn recorder(&self) -> Option<&Recorder>;

    /// Forgets a name that was removed from the address vector. `last`: its address has no other name.
    fn forget(&self, name: FiAddr, last: bool);
}

/// A list of endpoints of type `E`, each of which is held for as long as it is open: with weak references
/// every read of a queue would cost two locked instructions.
pub struct Members<E> {
    list: UnsafeCell<Vec<Arc<E>>>,
    lock: RwLock<()>,
    /// Reading the list takes no lock: see [`Members::of_one_caller`].
    alone: bool,
}

// SAFETY: the list is changed with the lock held for writing, and read with the lock held for reading; where
// no lock is taken, the program has promised that its calls do not overlap.
unsafe impl<E: Send + Sync> Sync for Members<E> {}

impl<E> Default for Members<E> {
    fn default() -> Members<E> {
        Members { list: UnsafeCell::default(), lock: RwLock::default(), alone: false }
    }
}

impl<E: Member> Members<E> {
    /// A list for a program that never makes two calls at once.
    ///
    /// # Safety
    /// No two threads call its functions at the same time.
    pub unsafe fn of_one_caller() -> Members<E> {
        Members { alone: true, ..Members::default() }
    }

    fn read<R>(&self, look: impl FnOnce(&[Arc<E>]) -> R) -> R {
        let guard = (!self.alone).then(|| self.lock.read().unwrap_or_else(|poisoned| poisoned.into_inner()));
        // SAFETY: nobody changes the list meanwhile, by the lock or by the promise of one caller; `look`
        // itself neither binds nor closes an endpoint.
        let result = look(unsafe { &*self.list.get() });
        drop(guard);
        result
    }

    fn write(&self, change: impl FnOnce(&mut Vec<Arc<E>>)) {
        let _guard = self.lock.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: nobody else uses the list, by the lock or by the promise of one caller.
        change(unsafe { &mut *self.list.get() });
    }

    /// Adds an endpoint, unless it is in the list.
    pub fn add(&self, ep: &Arc<E>) {
        self.write(|members| {
            if !members.iter().any(|member| Arc::ptr_eq(member, ep)) {
                members.push(ep.clone());
            }
        });
    }

    /// Removes an endpoint, which closes.
    pub fn remove(&self, ep: &Arc<E>) {
        self.write(|members| members.retain(|member| !Arc::ptr_eq(member, ep)));
    }

    /// The endpoint, if there is one alone and the program never makes two calls at once.
    #[inline(always)]
    pub fn only(&self) -> Option<&E> {
        if !self.alone {
            return None;
        }
        // SAFETY: nobody changes the list while the program's call lasts, by the promise of one caller.
        match unsafe { &*self.list.get() }.as_slice() {
            [ep] => Some(ep),
            _ => None,
        }
    }

    /// Makes all endpoints progress: they take in what has arrived and report what has completed.
    pub fn progress(&self, mut reader: Option<&mut Reader<'_>>) {
        self.each(|ep| ep.progress(reader.as_deref_mut()));
    }

    /// Whether `test` holds for one of the endpoints.
    pub fn any(&self, test: impl Fn(&E) -> bool) -> bool {
        self.read(|members| members.iter().any(|ep| test(ep)))
    }

    /// Calls `visit` for every endpoint.
    pub fn each(&self, mut visit: impl FnMut(&E)) {
        self.read(|members| members.iter().for_each(|ep| visit(ep)));
    }

    /// Sleeps until something may have happened at an endpoint, for at most `limit`.
    pub fn wait(&self, limit: Duration) {
        let (first, several) = self.read(|members| (members.first().cloned(), members.len() > 1));
        match first {
            Some(ep) => ep.wait(limit.min(if several { provider::SHARED_SLICE } else { provider::SLICE })),
            None => std::thread::sleep(limit.min(provider::SHARED_SLICE)),
        }
    }
}
