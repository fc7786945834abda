//! What a run with `--profile` learns: this process's part, and the whole at rank 0.
//!
//! The recorder's lock is taken by threads that serve shared memory, so that the program's threads take it on
//! their private stacks alone.

mod caller;
mod gather;

use std::ffi::OsString;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tasuki_profile::{Fault, PAGE, Record, Recorder, Wait};
use tasuki_shared::Watch;
use tasuki_sys::signals::Held;

use crate::stack::on_private;
use crate::world::World;

pub use gather::gather;

/// The variable by which `tasuki omp` asks for a profile: a file for it, or `-`.
const VARIABLE: &str = "TASUKI_OMP_PROFILE";

/// What is dropped in this order.
type Locked<'a> = (MutexGuard<'a, Recorder>, Held);

/// Records what happens in this process.
pub struct Profiler {
    began: Instant,
    recorder: Mutex<Recorder>,
    /// Where the profile goes; `-`: nowhere but to standard error.
    file: OsString,
}

impl Profiler {
    /// The profiler of a process, if one is asked for.
    pub fn from_env(rank: u32, threads: u32) -> Option<Profiler> {
        let file = std::env::var_os(VARIABLE).filter(|file| !file.is_empty())?;
        caller::prepare();
        Some(Profiler { began: Instant::now(), recorder: Mutex::new(Recorder::new(rank, threads, 0)), file })
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// The recorder, and the thread's signals, which wait until it is given back: a handler that touched a
    /// page which is elsewhere would wait for the thread that answers faults, and that one for the recorder.
    fn lock(&self) -> Locked<'_> {
        let held = Held::all();
        (self.recorder.lock().unwrap_or_else(PoisonError::into_inner), held)
    }

    /// The process's first thread comes to a region; `None`: it has left one.
    fn enter(&self, region: Option<usize>) {
        self.lock().0.enter(region.map_or(0, |place| place as u64), self.now());
    }

    /// Memory was allocated by the program.
    fn allocated(&self, memory: usize, bytes: usize) {
        // Both numbers go along: the stack of the caller may be at another host by the time the recorder's
        // lock is taken, and is not to be touched any more then.
        on_private(move || {
            let from = caller::caller();
            self.lock().0.allocated(memory as u64, bytes as u64, from);
        });
    }

    fn finish(&self) -> Record {
        self.lock().0.finish(self.now())
    }
}

impl fmt::Debug for Profiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profiler").finish_non_exhaustive()
    }
}

impl Watch for Profiler {
    fn fault(&self, address: usize, writes: bool, thread: u32) {
        let at = tasuki_sys::userfault::Fault { address, writes, thread }.instruction().unwrap_or(0);
        self.lock().0.fault(Fault { address: address as u64, writes, at }, self.now());
    }

    fn arrived(&self, page: usize, writes: bool, fresh: bool, bytes: &[u8]) {
        self.lock().0.arrived(page as u64, writes, fresh, bytes, self.now());
    }

    fn was_here(&self, page: usize) {
        self.lock().0.was_here(page as u64);
    }

    fn leaves(&self, page: usize, bytes: &[u8]) {
        self.lock().0.leaves(page as u64, bytes);
    }

    fn is_gone(&self, page: usize) {
        self.lock().0.is_gone(page as u64);
    }
}

impl World {
    /// The process's first thread comes to a region, known by the address of its function; `None`: it has
    /// left one. On a private stack.
    pub fn note_region(&self, region: Option<usize>) {
        if let Some(profiler) = &self.profiler {
            profiler.enter(region);
        }
    }

    /// Waits, and notes for how long. On a private stack.
    pub fn timed<R>(&self, wait: Wait, waits: impl FnOnce() -> R) -> R {
        let Some(profiler) = &self.profiler else { return waits() };
        let before = profiler.now();
        let result = waits();
        let after = profiler.now();
        profiler.lock().0.waited(wait, after - before);
        result
    }
}

/// Notes where memory of a page or more was allocated.
pub fn noted(memory: *mut u8, bytes: usize) -> *mut u8 {
    if bytes >= PAGE
        && !memory.is_null()
        && let Some(profiler) = World::get().and_then(|world| world.profiler.as_ref())
    {
        profiler.allocated(memory as usize, bytes);
    }
    memory
}
