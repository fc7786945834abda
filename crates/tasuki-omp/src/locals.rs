//! The threads of a process beside its first one, and those of a team that wait for each other.

use std::sync::{Condvar, Mutex, PoisonError};

use tasuki_shared::{Lost, Shared};

use crate::plan::Region;

/// What the threads of a process have in common. Called on private stacks alone.
#[derive(Default)]
pub struct Locals {
    work: Mutex<Work>,
    changed: Condvar,
    meeting: Mutex<Meeting>,
    met: Condvar,
}

/// What the threads beside the first one are to run.
#[derive(Default)]
struct Work {
    /// Regions that have been told of.
    count: u64,
    region: Option<Region>,
    /// Threads that still run it.
    running: u32,
}

/// Threads of this process at a barrier.
#[derive(Default)]
struct Meeting {
    came: u32,
    count: u64,
}

/// Ends the process if the memory is lost: the reason has been said.
pub fn must<T>(result: Result<T, Lost>) -> T {
    // SAFETY: the call takes a number and does not return.
    result.unwrap_or_else(|_| unsafe { libc::_exit(1) })
}

impl Locals {
    /// Runs every region that is told of, for ever.
    pub fn serve(&self, take_part: impl Fn(&Region)) {
        let mut seen = 0;
        loop {
            let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
            while work.count == seen {
                work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
            }
            seen = work.count;
            let region = work.region.clone();
            drop(work);
            region.iter().for_each(&take_part);
            let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
            work.running -= 1;
            drop(work);
            self.changed.notify_all();
        }
    }

    /// The threads beside the first one, so many, run a region.
    pub fn tell(&self, threads: u32, region: &Region) {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        work.count += 1;
        work.region = Some(region.clone());
        work.running = threads;
        drop(work);
        self.changed.notify_all();
    }

    /// Waits until they are through.
    pub fn wait(&self) {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        while work.running > 0 {
            work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A thread of a team of so many waits for the others, `each` of which a process has at most.
    pub fn barrier(&self, shared: &Shared, each: u32, threads: u32) {
        let here = (threads - shared.rank() * each).min(each);
        let mut meeting = self.meeting.lock().unwrap_or_else(PoisonError::into_inner);
        let count = meeting.count;
        meeting.came += 1;
        if meeting.came == here {
            must(shared.barrier_of(threads.div_ceil(each)));
            (meeting.came, meeting.count) = (0, count + 1);
            drop(meeting);
            self.met.notify_all();
            return;
        }
        while meeting.count == count {
            meeting = self.met.wait(meeting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
