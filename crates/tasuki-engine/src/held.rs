//! What a program and the helper tell each other about messages that are held.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;

/// Hints alone: what is behind the endpoint's lock says what is held, and the helper looks there before it does anything.
#[derive(Default)]
pub(crate) struct Held {
    /// Odd while something is held. Each time that something begins to be held has a number of its own.
    word: AtomicU64,
    /// The program would hold messages if the helper looked after them.
    wanted: AtomicBool,
    /// The helper looks after them.
    watched: AtomicBool,
    helper: OnceLock<Thread>,
}

/// For the program.
impl Held {
    /// Messages begin to be held, or are held no more.
    pub fn turn(&self) {
        // The program alone changes it, and the helper with the program's lock.
        self.word.store(self.word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Whether the helper looks after what is held. If not it is asked to, once: without anybody who asks it sleeps.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed) || self.ask()
    }

    #[cold]
    fn ask(&self) -> bool {
        if !self.wanted.load(Ordering::Relaxed)
            && let Some(helper) = self.helper.get()
        {
            self.wanted.store(true, Ordering::Relaxed);
            helper.unpark();
        }
        false
    }
}

/// For the helper.
impl Held {
    /// This thread is the helper, until the result is dropped, however that comes about: from then on nothing is held.
    pub fn serve(&self) -> impl Drop + '_ {
        let _ = self.helper.set(std::thread::current());
        Service(self)
    }

    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// From now on the helper looks after what is held, or does not before it is asked again.
    pub fn watch(&self, watched: bool) {
        self.watched.store(watched, Ordering::Relaxed);
        self.wanted.store(watched, Ordering::Relaxed);
    }

    pub fn word(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }
}

struct Service<'a>(&'a Held);

impl Drop for Service<'_> {
    fn drop(&mut self) {
        self.0.watched.store(false, Ordering::Relaxed);
        // Nobody is there to be asked.
        self.0.wanted.store(true, Ordering::Relaxed);
    }
}
