//! The endpoint's lock, biased towards a program that calls from one thread at a time.
//!
//! Most programs never call an endpoint from two threads at once, and only the helper thread, which comes
//! when they do not call, must be kept out. A lock that both take alike costs each call two locked
//! instructions, a good part of a short message's time. So a program that has promised to call alone only
//! says that it is inside, by plain stores, and the helper pays for both: it says that it wants to come in,
//! makes all processors of the process execute a memory barrier (`membarrier(2)`), and only then reads
//! whether the program is inside. The helper's wish stands until the program comes and takes it back: while a
//! program computes, the helper interrupts it once and not at every visit.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use crate::sync::{
    AtomicBool, Mutex, MutexGuard, Ordering, PoisonError, TryLockError, compiler_fence, membarrier,
};

/// State behind a lock that the program takes by plain stores while no other thread wants it.
pub(crate) struct BiasedLock<T> {
    state: UnsafeCell<T>,
    /// Every thread that is inside has locked this, except a program that calls alone and has seen no wish of
    /// the helper.
    mutex: Mutex<()>,
    /// The program has promised to call alone.
    alone: AtomicBool,
    /// The program is inside without the mutex.
    inside: AtomicBool,
    /// The helper has come in, or wants to, since the program last had the mutex: the program must lock the
    /// mutex at its next call.
    wanted: AtomicBool,
    /// The helper has registered the process for `membarrier(2)`.
    registered: AtomicBool,
}

// SAFETY: the state is reached through `Guard` alone, and one guard exists at a time: `enter` and `visit` say
// why.
unsafe impl<T: Send> Sync for BiasedLock<T> {}

/// Access to the state, until it is dropped.
pub(crate) struct Guard<'a, T> {
    lock: &'a BiasedLock<T>,
    mutex: ManuallyDrop<Option<MutexGuard<'a, ()>>>,
    /// Makes the guard stay with its thread.
    _thread: PhantomData<*mut T>,
}

impl<T> BiasedLock<T> {
    pub fn new(state: T) -> BiasedLock<T> {
        let [alone, inside, wanted, registered] = [(); 4].map(|()| AtomicBool::new(false));
        BiasedLock { state: UnsafeCell::new(state), mutex: Mutex::new(()), alone, inside, wanted, registered }
    }

    /// From now on the program calls alone. Where the kernel has no `membarrier(2)`, nothing changes. To
    /// register the process for that system call takes some 15 ms, for which a program that starts would have
    /// to wait: the helper does it when it is first needed, and many programs end before.
    ///
    /// # Safety
    /// From now on no thread calls [`BiasedLock::lock`] or [`BiasedLock::try_lock`] while another one is in
    /// either of them or has a guard of theirs.
    pub unsafe fn program_calls_alone(&self) {
        // A helper that is inside now has not checked whether the program is, so it must leave first.
        let _mutex = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        self.alone.store(membarrier::is_offered(), Ordering::Relaxed);
    }

    /// Lets the program in, as soon as no other thread is inside.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        match self.enter() {
            Some(inside) => inside,
            None => self.wait(),
        }
    }

    #[inline(never)]
    fn wait(&self) -> Guard<'_, T> {
        // After a panic in another thread the state is used as it is: an error that follows is better than a
        // hang.
        let mutex = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        self.return_to(mutex)
    }

    /// Like [`Self::lock`], but gives `None` if another thread is inside.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.enter().or_else(|| self.try_mutex().map(|mutex| self.return_to(mutex)))
    }

    fn try_mutex(&self) -> Option<MutexGuard<'_, ()>> {
        match self.mutex.try_lock() {
            Ok(mutex) => Some(mutex),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Lets the program in with the mutex locked. At its next call it need not lock it, unless the helper has
    /// come in between.
    fn return_to<'a>(&'a self, mutex: MutexGuard<'a, ()>) -> Guard<'a, T> {
        self.wanted.store(false, Ordering::Relaxed);
        self.inside(Some(mutex))
    }

    #[inline(always)]
    fn inside<'a>(&'a self, mutex: Option<MutexGuard<'a, ()>>) -> Guard<'a, T> {
        Guard { lock: self, mutex: ManuallyDrop::new(mutex), _thread: PhantomData }
    }

    /// Lets the program in without the mutex, if it calls alone and the helper has no wish.
    #[inline(always)]
    pub fn enter(&self) -> Option<Guard<'_, T>> {
        if !self.alone.load(Ordering::Relaxed) {
            return None;
        }
        // This does not find every broken promise, but a panic is better than a wrong result.
        assert!(
            !self.inside.load(Ordering::Relaxed),
            "two calls at once of a program that promised otherwise"
        );
        self.inside.store(true, Ordering::Relaxed);
        // The processor may execute the load below before the store above; the barrier of `visit` makes up
        // for that.
        compiler_fence(Ordering::SeqCst);
        if self.wanted.load(Ordering::Relaxed) {
            self.inside.store(false, Ordering::Release);
            return None;
        }
        Some(self.inside(None))
    }

    /// Registers the process for `membarrier(2)`, if the helper will need it and has not done so yet. The
    /// helper waits for the kernel without the mutex, for which the program would have to wait.
    pub fn register(&self) {
        if self.alone.load(Ordering::Relaxed) && !self.registered.swap(true, Ordering::Relaxed) {
            // If this fails, `membarrier::all` fails in `visit`, which then relies on time instead.
            let _ = membarrier::register();
        }
    }

    /// Lets the helper in, or gives `None` if another thread is inside.
    pub fn visit(&self) -> Option<Guard<'_, T>> {
        self.register();
        let mutex = self.try_mutex()?;
        if self.alone.load(Ordering::Relaxed) {
            // If the wish was said at an earlier visit and not taken back, the program has seen it, or sees
            // it at its next call.
            let said = self.wanted.swap(true, Ordering::SeqCst);
            if !said && !membarrier::all() {
                // Has never been observed, as the kernel said that it offers the call. At the next visit, a
                // millisecond from now, no processor's store is still on its way.
                return None;
            }
            // Either the program sees `wanted` and locks the mutex, or its store of `inside` is seen here.
            // Acquire, so that all that the program did to the state is seen too.
            if self.inside.load(Ordering::Acquire) {
                return None;
            }
        }
        Some(self.inside(Some(mutex)))
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: one guard exists at a time: either its thread has the mutex, or `inside` keeps the helper
        // out and the program's promise its other threads.
        unsafe { &*self.lock.state.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`; `self` is borrowed mutably, so no other reference comes from this guard.
        unsafe { &mut *self.lock.state.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.mutex.is_none() {
            self.lock.inside.store(false, Ordering::Release);
        } else {
            self.unlock();
        }
    }
}

impl<T> Guard<'_, T> {
    #[inline(never)]
    fn unlock(&mut self) {
        drop(self.mutex.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program counts, and a helper counts whenever it is let in: every addition of either is there in the
    /// end.
    fn count(alone: bool) {
        const EACH: u64 = 200_000;
        let lock = BiasedLock::new((0u64, 0u64));
        if alone {
            // SAFETY: this thread is the only one that does not visit.
            unsafe { lock.program_calls_alone() };
        }
        let visits = std::thread::scope(|scope| {
            let helper = scope.spawn(|| {
                let mut visits = 0;
                while lock.visit().is_none_or(|state| state.0 < EACH) {
                    if let Some(mut state) = lock.visit() {
                        (state.1, visits) = (state.1 + 1, visits + 1);
                    }
                }
                visits
            });
            for _ in 0..EACH {
                let mut state = lock.lock();
                // The helper never sees these two words differ.
                state.0 += 1;
                state.1 += 1;
            }
            helper.join().expect("no panic")
        });
        assert_eq!(*lock.lock(), (EACH, EACH + visits));
    }

    #[test]
    fn nothing_is_lost_between_a_program_and_the_helper() {
        count(false);
        count(true);
    }

    #[test]
    fn nobody_visits_while_the_program_is_inside() {
        let lock = BiasedLock::new(());
        // SAFETY: this thread comes in once at a time; the other one visits.
        unsafe { lock.program_calls_alone() };
        let inside = lock.lock();
        std::thread::scope(|scope| assert!(scope.spawn(|| lock.visit().is_none()).join().expect("no panic")));
        drop(inside);
        let visitor = lock.visit().expect("nobody is there");
        std::thread::scope(|scope| {
            // SAFETY (of the promise): the first thread does not come in meanwhile.
            assert!(scope.spawn(|| lock.try_lock().is_none()).join().expect("no panic"));
        });
        drop(visitor);
        assert!(lock.visit().is_some(), "without a second interruption");
        for _ in 0..2 {
            assert!(lock.try_lock().is_some());
        }
        assert!(lock.visit().is_some());
    }
}
