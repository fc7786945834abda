//! Mutual exclusion: `critical` and atomic blocks by locks of shared memory, which are messages; locks of
//! `omp.h` by words in the program's memory, because they can be tried.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use tasuki_profile::Wait;

use crate::locals::must;
use crate::stack::on_private;
use crate::work::until;
use crate::world::World;

/// Locks that have no name in the program.
pub const UNNAMED: u32 = u32::MAX;
pub const ATOMIC: u32 = u32::MAX - 1;

/// The lock of a name: names are words in the program's data, which are fewer than 2^32.
pub fn of_name(name: usize) -> u32 {
    (name / size_of::<usize>()) as u32
}

pub fn acquire(lock: u32) {
    let Some(world) = World::get() else { return };
    on_private(|| world.timed(Wait::Lock, || must(world.shared.lock(lock))));
}

pub fn release(lock: u32) {
    let Some(world) = World::get() else { return };
    let had = on_private(|| must(world.shared.unlock(lock)));
    debug_assert!(had, "lock {lock} was not taken");
}

/// Takes a lock of `omp.h` if nobody has it.
pub fn try_word(word: &AtomicI32) -> bool {
    word.load(Ordering::Relaxed) == 0
        && word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

pub fn acquire_word(word: &AtomicI32) {
    until(|| try_word(word));
}

pub fn release_word(word: &AtomicI32) {
    word.store(0, Ordering::Release);
}

/// A lock of `omp.h` that its thread may take again: the thread that has it in the upper half, and how often
/// in the lower one. LLVM's `omp_nest_lock_t` and gfortran's kind have no more than these
/// 8 bytes.
#[repr(transparent)]
pub struct Nested(AtomicU64);

impl Nested {
    pub fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Takes it, or waits for it if `waits`; the number of times that this thread has it, 0 if it has not.
    pub fn acquire(&self, waits: bool) -> i32 {
        let me = u64::from(crate::thread::owner()) << 32;
        let has = self.0.load(Ordering::Relaxed);
        if has & !COUNT == me {
            // Nobody else writes to it meanwhile.
            self.0.store(has + 1, Ordering::Relaxed);
            return (has & COUNT) as i32 + 1;
        }
        let take = || {
            self.0.load(Ordering::Relaxed) == 0
                && self.0.compare_exchange(0, me | 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        if waits {
            until(take);
            return 1;
        }
        i32::from(take())
    }

    pub fn release(&self) {
        let has = self.0.load(Ordering::Relaxed);
        self.0.store(if has & COUNT > 1 { has - 1 } else { 0 }, Ordering::Release);
    }
}

/// The bits of [`Nested`] that count.
const COUNT: u64 = u32::MAX as u64;
