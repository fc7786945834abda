//! How long a program that polls keeps the processor to itself.
//!
//! With a core for every rank, polling without pause answers soonest. With more ranks than cores the one that polls keeps away the
//! one it waits for. Which of the two it is nobody needs to tell: a yield that takes long has let somebody else run.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Decides after how many rounds without anything new the processor is offered to others.
pub(crate) struct Patience {
    idle: AtomicU32,
    limit: AtomicU32,
}

/// Rounds when others want the processor: about two microseconds.
const SHORT: u32 = 2;
/// Rounds when nobody does.
const LONG: u32 = 64;
/// A yield that nobody takes up returns sooner.
const TAKEN_UP: Duration = Duration::from_micros(5);

impl Patience {
    pub fn new() -> Patience {
        Patience { idle: AtomicU32::new(0), limit: AtomicU32::new(LONG) }
    }

    /// Something has happened.
    pub fn renew(&self) {
        self.idle.store(0, Ordering::Relaxed);
    }

    /// A round in which nothing has happened.
    pub fn strain(&self) {
        if self.idle.fetch_add(1, Ordering::Relaxed) < self.limit.load(Ordering::Relaxed) {
            return;
        }
        let start = Instant::now();
        std::thread::yield_now();
        let limit = if start.elapsed() > TAKEN_UP {
            SHORT
        } else {
            // It takes many idle yields to believe that the crowd has gone.
            (self.limit.load(Ordering::Relaxed) + 1).min(LONG)
        };
        self.limit.store(limit, Ordering::Relaxed);
    }
}
