//! What a program and the helper tell each other about messages that are held.

use tasuki_proto::Time;

use crate::sync::{AtomicBool, AtomicU64, OnceLock, Ordering, Thread, current};

/// Hints alone: what is behind the endpoint's lock says what is held, and the helper looks there before it does anything.
#[derive(Default)]
pub(crate) struct Held {
    /// Since when something is held, ns, and in the last bit whether it still is.
    word: AtomicU64,
    /// The program would hold messages if the helper looked after them.
    wanted: AtomicBool,
    /// The helper looks after them.
    watched: AtomicBool,
    helper: OnceLock<Thread>,
}

/// For the program.
impl Held {
    /// Messages begin to be held.
    pub fn begin(&self, now: Time) {
        self.word.store(now.0 << 1 | 1, Ordering::Relaxed);
    }

    /// None is held any more.
    pub fn end(&self) {
        // Changed with the endpoint's lock alone.
        self.word.store(self.word.load(Ordering::Relaxed) & !1, Ordering::Relaxed);
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
        let _ = self.helper.set(current());
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

    /// Since when something is held, or was held last; and whether it still is.
    pub fn since(&self) -> (Time, bool) {
        let word = self.word.load(Ordering::Relaxed);
        (Time(word >> 1), word & 1 == 1)
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
