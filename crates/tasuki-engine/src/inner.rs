//! The inside of an endpoint: the engine behind its lock, and what threads tell each other beside the lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use crate::biased_lock::{BiasedLock, Guard};
use crate::clock::Clock;
use crate::coalesce_watch::CoalesceWatch;
use crate::engine::Engine;
use crate::open::Opened;
use crate::sleep::Sleeper;
use crate::wait::oversubscription::Oversubscription;
use crate::wait::yielding::Rest;

/// What the program's threads and the helper thread share.
pub(crate) struct Inner {
    pub lock: BiasedLock<Engine>,
    /// Grows whenever the program makes progress, also while it posts: see [`Engine::entries`].
    pub entries: Arc<AtomicU64>,
    /// The program was given nothing when it last made progress.
    pub waits: AtomicBool,
    pub stop: AtomicBool,
    pub sleeper: Sleeper,
    pub coalesce_watch: Arc<CoalesceWatch>,
    pub processors: Oversubscription,
    pub clock: Clock,
}

impl Inner {
    pub fn new(opened: Opened) -> Inner {
        let Opened { engine, clock, coalesce_watch, processors, sleeper, .. } = opened;
        let entries = engine.entries();
        Inner {
            lock: BiasedLock::new(engine),
            entries,
            waits: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            sleeper,
            coalesce_watch,
            processors,
            clock,
        }
    }

    /// The engine, for the program.
    #[inline]
    pub fn lock(&self) -> Guard<'_, Engine> {
        self.lock.lock()
    }

    /// The program makes progress, with the lock that it holds.
    pub fn enter(&self, engine: &mut Engine) {
        engine.count_program_call();
    }

    /// Offers the processor to others.
    #[cold]
    pub fn rest(&self, mut engine: Guard<'_, Engine>) {
        let rest = engine.rest();
        drop(engine);
        let start = Instant::now();
        match rest {
            Rest::Yield => std::thread::yield_now(),
            Rest::Nap(time) => self.sleeper.nap(time),
        }
        self.lock().rested(rest, start.elapsed());
    }
}
