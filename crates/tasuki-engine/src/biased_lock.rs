//! The endpoint's lock.
//!
//! Most programs never call an endpoint from two threads at once, and only the helper thread, which comes when they do not call, must be kept
//! out. A lock that two take alike costs each call two locked instructions, a good part of a short message's time. So a program that has
//! promised to call alone just says that it is inside, by plain stores, and the helper pays for both: it says that it wants in, makes all
//! processors of the process catch up (`membarrier(2)`), and only then looks whether the program is inside. What it has said stands until the
//! program comes and takes it back: while a program computes, the helper interrupts it once and not at every visit.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use crate::sync::{
    AtomicBool, Mutex, MutexGuard, Ordering, PoisonError, TryLockError, compiler_fence, membarrier,
};

/// What is behind the lock, and who is there.
pub(crate) struct BiasedLock<T> {
    state: UnsafeCell<T>,
    /// Held by everybody who is inside, but for a program that calls alone and finds no helper.
    mutex: Mutex<()>,
    /// The program has promised to call alone.
    alone: AtomicBool,
    /// It is inside, without the mutex.
    inside: AtomicBool,
    /// The helper has been here, or wants to be, since the program last had the mutex: it must take that.
    wanted: AtomicBool,
    /// The helper has registered the process for the system call that it needs.
    registered: AtomicBool,
}

// SAFETY: the state is reached through `Guard` alone, of which there is one at a time: see `enter` and `visit`.
unsafe impl<T: Send> Sync for BiasedLock<T> {}

/// The right to the state.
pub(crate) struct Guard<'a, T> {
    lock: &'a BiasedLock<T>,
    held: ManuallyDrop<Option<MutexGuard<'a, ()>>>,
    /// It stays with its thread.
    _thread: PhantomData<*mut T>,
}

impl<T> BiasedLock<T> {
    pub fn new(state: T) -> BiasedLock<T> {
        let [alone, inside, wanted, registered] = [(); 4].map(|()| AtomicBool::new(false));
        BiasedLock { state: UnsafeCell::new(state), mutex: Mutex::new(()), alone, inside, wanted, registered }
    }

    /// From now on the program calls alone. Without the system call that this needs nothing changes. To register for it takes some 15 ms, for which
    /// a program that starts would have to wait: the helper does it when it is first needed, and many programs end before.
    ///
    /// # Safety
    /// No two threads are in [`BiasedLock::lock`], [`BiasedLock::try_lock`], or between one of these and the end of what it gave, at the same time.
    pub unsafe fn program_calls_alone(&self) {
        // A helper that is inside now did not have to look for the program.
        let _held = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        self.alone.store(membarrier::is_offered(), Ordering::Relaxed);
    }

    /// The program comes in; waits for whoever is there.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        match self.enter() {
            Some(inside) => inside,
            None => self.wait(),
        }
    }

    #[inline(never)]
    fn wait(&self) -> Guard<'_, T> {
        // A panic elsewhere left the state whole enough to be worked with, and worse than an error is a hang.
        let held = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
        self.return_to(held)
    }

    /// The same, if nobody is there.
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.enter().or_else(|| self.hold().map(|held| self.return_to(held)))
    }

    fn hold(&self) -> Option<MutexGuard<'_, ()>> {
        match self.mutex.try_lock() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The program has the mutex, and needs it no more the next time.
    fn return_to<'a>(&'a self, held: MutexGuard<'a, ()>) -> Guard<'a, T> {
        self.wanted.store(false, Ordering::Relaxed);
        self.inside(Some(held))
    }

    #[inline(always)]
    fn inside<'a>(&'a self, held: Option<MutexGuard<'a, ()>>) -> Guard<'a, T> {
        Guard { lock: self, held: ManuallyDrop::new(held), _thread: PhantomData }
    }

    /// The program comes in without the mutex, if it calls alone and the helper is far.
    #[inline(always)]
    pub fn enter(&self) -> Option<Guard<'_, T>> {
        if !self.alone.load(Ordering::Relaxed) {
            return None;
        }
        // By no means sure to be seen, but better than a wrong result.
        assert!(
            !self.inside.load(Ordering::Relaxed),
            "two calls at once of a program that promised otherwise"
        );
        self.inside.store(true, Ordering::Relaxed);
        // The processor may put the load before the store; `visit` makes up for that.
        compiler_fence(Ordering::SeqCst);
        if self.wanted.load(Ordering::Relaxed) {
            self.inside.store(false, Ordering::Release);
            return None;
        }
        Some(self.inside(None))
    }

    /// The helper makes sure that it has the system call. It waits for that without the mutex, for which the program would wait.
    pub fn register(&self) {
        if self.alone.load(Ordering::Relaxed) && !self.registered.swap(true, Ordering::Relaxed) {
            // Without it `visit` knows another way.
            let _ = membarrier::register();
        }
    }

    /// The helper comes in, if nobody is there.
    pub fn visit(&self) -> Option<Guard<'_, T>> {
        self.register();
        let held = self.hold()?;
        if self.alone.load(Ordering::Relaxed) {
            // Said before and not taken back: whatever the program has done since, it has seen it or will.
            let said = self.wanted.swap(true, Ordering::SeqCst);
            if !said && !membarrier::all() {
                // Never seen, as it was offered. At the next visit, a millisecond from now, no processor's store is still on its way.
                return None;
            }
            // Either the program sees `wanted` and takes the mutex, or its store of `inside` is seen here. Acquire: with what it has done.
            if self.inside.load(Ordering::Acquire) {
                return None;
            }
        }
        Some(self.inside(Some(held)))
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: whoever has this is alone: by the mutex, or by `inside`, which keeps the helper out, and the program's promise.
        unsafe { &*self.lock.state.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.lock.state.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.held.is_none() {
            self.lock.inside.store(false, Ordering::Release);
        } else {
            self.let_go();
        }
    }
}

impl<T> Guard<'_, T> {
    #[inline(never)]
    fn let_go(&mut self) {
        drop(self.held.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that counts and a helper that steps in whenever it can: every addition of either is there in the end.
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
                // Two words that belong together: nobody sees the one without the other.
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
