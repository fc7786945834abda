//! How programs let an endpoint make progress and learn what is over: by polling, or by sleeping until
//! something happens.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tasuki_ring::Peek;

use super::Endpoint;
use crate::api::Completion;
use crate::biased_lock::Guard;
use crate::engine::Engine;
use crate::peers::Names;
use crate::shm::inline::Received;

/// Where [`Endpoint::poll_with`] puts what it finds. Both functions are called under the endpoint's lock:
/// they must not call the endpoint, and are given the names of peers instead.
pub trait Sink {
    /// A message has been received, whole, for a receive of one piece of memory. Says whether the sink takes
    /// more.
    fn take_message(&mut self, message: &Received, names: &Names<'_>) -> bool;

    /// An operation is over.
    fn take_completion(&mut self, completion: &Completion, names: &Names<'_>);
}

impl Endpoint {
    /// Takes in what has arrived and sends what may be sent. After polls in which nothing has happened it
    /// offers the processor to others: by a yield, or, if yields do not help a program that waits while the
    /// processors are oversubscribed, by a nap of 50 us that a packet ends.
    pub fn progress(&self) {
        self.turn(0, |_| {});
    }

    /// [`Endpoint::progress`] and [`Endpoint::poll_many`] under one acquisition of the lock. Returns how many
    /// completions it gave, at most `max`.
    pub fn turn(&self, max: usize, mut each: impl FnMut(Completion)) -> usize {
        self.turn_with(max, |completion, _| each(*completion))
    }

    /// As [`Endpoint::turn`]; `each` is called under the lock, so it must not call the endpoint, and is given
    /// the names of peers instead.
    pub fn turn_with(&self, max: usize, each: impl FnMut(&Completion, &Names<'_>)) -> usize {
        let Some(engine) = self.inner.lock.try_lock() else {
            // Another thread makes progress, and may be waiting for a processor.
            std::thread::yield_now();
            return 0;
        };
        self.turn_inside(engine, max, each)
    }

    /// [`Endpoint::turn_with`] for a caller that is inside of the lock.
    #[inline]
    fn turn_inside(
        &self,
        mut engine: Guard<'_, Engine>,
        max: usize,
        mut each: impl FnMut(&Completion, &Names<'_>),
    ) -> usize {
        self.inner.enter(&mut engine);
        // With `max` 0 nothing is given, and what completes waits.
        let (busy, first) = if max > 0 { engine.poll() } else { (engine.poll_without_completion(), None) };
        if let Some(completion) = &first {
            each(completion, &engine.names());
        }
        let given = usize::from(first.is_some());
        let count = given + engine.take_completions(max - given, each);
        engine.note_given(count > 0);
        self.inner.waits.store(!busy && count == 0, Ordering::Relaxed);
        if engine.is_time_to_rest(busy, count > 0) {
            self.inner.rest(engine);
        }
        count
    }

    /// Makes progress and gives everything that is over to a sink, which `sink` makes if there may be
    /// something. `None`: a look at memory was enough to see that there is nothing. Most polls of a program
    /// that polls and calls alone come to that, and take some ten nanoseconds.
    #[inline(always)]
    pub fn poll_with<S: Sink>(&self, sink: impl FnOnce() -> S) -> Option<S> {
        let Some(mut engine) = self.inner.lock.enter() else { return Some(self.poll_everything(sink())) };
        let peek = engine.peek();
        if matches!(peek, Peek::Nothing) && !engine.stays_for_reply() {
            return None;
        }
        self.poll_found(engine, peek, sink())
    }

    /// The rest of [`Endpoint::poll_with`] after a peek that has found something, or that may stay for a
    /// reply.
    #[inline(never)]
    fn poll_found<S: Sink>(&self, mut engine: Guard<'_, Engine>, peek: Peek, mut sink: S) -> Option<S> {
        let found = match peek {
            Peek::Nothing => engine.stay(),
            peek => peek,
        };
        match found {
            Peek::Nothing => return None,
            Peek::Found(found) => {
                if engine.take_found(found, |message, names| sink.take_message(message, names)) {
                    self.inner.waits.store(false, Ordering::Relaxed);
                    return Some(sink);
                }
            }
            Peek::Other => {
                if engine.give_ready(|completion, names| sink.take_completion(completion, names)) {
                    self.inner.waits.store(false, Ordering::Relaxed);
                    return Some(sink);
                }
            }
        }
        self.turn_inside(engine, usize::MAX, |completion, names| sink.take_completion(completion, names));
        Some(sink)
    }

    #[inline(never)]
    fn poll_everything<S: Sink>(&self, mut sink: S) -> S {
        self.turn_with(usize::MAX, |completion, names| sink.take_completion(completion, names));
        sink
    }

    /// The next completion.
    pub fn poll(&self) -> Option<Completion> {
        self.inner.lock().pop_completion()
    }

    /// Gives up to `max` completions at once to `each`, and returns how many. Makes no progress.
    pub fn poll_many(&self, max: usize, mut each: impl FnMut(Completion)) -> usize {
        self.inner.lock().take_completions(max, |completion, _| each(*completion))
    }

    /// Sleeps until there is a completion, something else may have happened, or the time is over; makes
    /// progress meanwhile.
    pub fn wait(&self, timeout: Option<Duration>) {
        let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let (done, deadline) = {
                let mut engine = self.inner.lock();
                self.inner.enter(&mut engine);
                // This thread sleeps until something arrives, so that the helper thread need not step in.
                self.inner.waits.store(true, Ordering::Relaxed);
                engine.poll_before_sleep()
            };
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if done || left.is_some_and(|left| left.is_zero()) {
                return;
            }
            self.inner.sleeper.sleep(deadline.min(left.unwrap_or(Duration::MAX)));
        }
    }
}
