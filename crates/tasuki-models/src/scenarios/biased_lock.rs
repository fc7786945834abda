//! A program and its helper thread at the endpoint's lock.

use std::rc::Rc;

use loom::cell::UnsafeCell;
use loom::thread;

use crate::biased_lock::BiasedLock;

/// What is behind the lock. loom watches it: two threads that are inside at once are a data race.
struct Count(UnsafeCell<u32>);

impl Count {
    fn add(&mut self) {
        // SAFETY: `self` is borrowed alone, as far as the lock keeps its promise, which loom checks.
        self.0.with_mut(|count| unsafe { *count += 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: as far as the lock keeps its promise nobody writes, which loom checks.
        self.0.with(|count| unsafe { *count })
    }
}

fn lock(alone: bool) -> Rc<BiasedLock<Count>> {
    let lock = Rc::new(BiasedLock::new(Count(UnsafeCell::new(0))));
    if alone {
        // SAFETY: the helper of each scenario visits and does nothing else.
        unsafe { lock.program_calls_alone() };
    }
    lock
}

/// The helper visits twice, while the program comes in so often. Nothing that either has added is lost.
fn program_and_helper(lock: Rc<BiasedLock<Count>>, program: impl Fn(&BiasedLock<Count>) -> u32) {
    let shared = Rc::clone(&lock);
    let helper = thread::spawn(move || {
        let visits = (0..2).map(|_| match shared.visit() {
            Some(mut state) => {
                state.add();
                1
            }
            None => 0,
        });
        visits.sum::<u32>()
    });
    let added = program(&lock) + helper.join().expect("no panic");
    assert_eq!(lock.lock().get(), added, "something is lost");
}

/// The program comes in twice, without the mutex if it can.
pub(crate) fn alone() {
    program_and_helper(lock(true), |lock| {
        lock.lock().add();
        lock.lock().add();
        2
    });
}

/// The program does not wait: it comes in if nobody is there.
pub(crate) fn trying() {
    program_and_helper(lock(true), |lock| {
        let tries = (0..2).map(|_| match lock.try_lock() {
            Some(mut state) => {
                state.add();
                1
            }
            None => 0,
        });
        tries.sum()
    });
}

/// The program has promised nothing.
pub(crate) fn not_alone() {
    program_and_helper(lock(false), |lock| {
        lock.lock().add();
        1
    });
}

/// The program promises to call alone when the helper is there already.
pub(crate) fn promise() {
    program_and_helper(lock(false), |lock| {
        // SAFETY: the other thread visits and does nothing else.
        unsafe { lock.program_calls_alone() };
        lock.lock().add();
        1
    });
}
