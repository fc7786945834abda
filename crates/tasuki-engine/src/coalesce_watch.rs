//! What the program and the watchdog of coalescing ([`crate::helper`]) tell each other about messages that
//! wait to share a packet.

use tasuki_proto::Time;

use crate::sync::{AtomicBool, AtomicU64, OnceLock, Ordering, Thread, current};

/// Hints, which may be out of date: which messages are coalesced is written behind the endpoint's lock, and
/// the watchdog reads it there before it sends any.
#[derive(Default)]
pub(crate) struct CoalesceWatch {
    /// Time since which coalesced messages wait, ns, and in the lowest bit whether any still do.
    word: AtomicU64,
    /// The program would coalesce messages if the watchdog looked after them.
    wanted: AtomicBool,
    /// The watchdog looks after them.
    watched: AtomicBool,
    /// The thread that the watchdog runs on, to wake it.
    helper: OnceLock<Thread>,
}

/// For the program.
impl CoalesceWatch {
    /// The first message is coalesced.
    pub fn begin(&self, now: Time) {
        self.word.store(now.0 << 1 | 1, Ordering::Relaxed);
    }

    /// No coalesced message waits any more.
    pub fn end(&self) {
        // A plain load and store suffice, because the word changes only under the endpoint's lock.
        self.word.store(self.word.load(Ordering::Relaxed) & !1, Ordering::Relaxed);
    }

    /// Whether the watchdog looks after coalesced messages. If it does not, it is woken, once for
    /// each time that it went to sleep: without it no message may be coalesced.
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

/// For the watchdog.
impl CoalesceWatch {
    /// Says that the watchdog runs on this thread until the result is dropped, be it by a panic. After that
    /// no message is coalesced.
    pub fn serve(&self) -> impl Drop + '_ {
        let _ = self.helper.set(current());
        Serving(self)
    }

    /// Whether the program would coalesce messages if the watchdog looked after them.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// True: from now on the watchdog looks after coalesced messages. False: it does not, until the
    /// program wakes it again.
    pub fn set_watched(&self, watched: bool) {
        self.watched.store(watched, Ordering::Relaxed);
        self.wanted.store(watched, Ordering::Relaxed);
    }

    /// Since when coalesced messages wait, or did the last time; and whether any still do.
    pub fn since(&self) -> (Time, bool) {
        let word = self.word.load(Ordering::Relaxed);
        (Time(word >> 1), word & 1 == 1)
    }
}

/// The watchdog's thread, as long as it runs.
struct Serving<'a>(&'a CoalesceWatch);

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        self.0.watched.store(false, Ordering::Relaxed);
        // Set, so that the program does not try to wake a thread that has ended.
        self.0.wanted.store(true, Ordering::Relaxed);
    }
}
