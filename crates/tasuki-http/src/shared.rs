//! What takes long to find out, for all that ask at the same time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct State<T> {
    latest: Option<T>,
    /// Number of answers so far.
    number: u64,
    is_at_work: bool,
    /// How many wait for the next answer.
    waiting: usize,
}

/// An answer that is found out once for all that ask while that goes on: however many ask, none waits for
/// more than one to be found out.
#[derive(Debug)]
pub struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        let state = State { latest: None, number: 0, is_at_work: false, waiting: 0 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<T: Clone> Shared<T> {
    /// What `find` says now, or what another caller's says that has begun and not ended.
    pub fn get(&self, find: impl FnOnce() -> T) -> T {
        let mut state = self.lock();
        let seen = state.number;
        state.waiting += 1;
        while state.is_at_work && state.number == seen {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        if state.number != seen
            && let Some(latest) = &state.latest
        {
            return latest.clone();
        }
        state.is_at_work = true;
        drop(state);
        // If finding out fails, another caller tries it.
        let _at_work = AtWork(self);
        let found = find();
        let mut state = self.lock();
        state.number += 1;
        state.latest = Some(found.clone());
        found
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody finds out.
struct AtWork<'a, T: Clone>(&'a Shared<T>);

impl<T: Clone> Drop for AtWork<'_, T> {
    fn drop(&mut self) {
        self.0.lock().is_at_work = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::mpsc::{Receiver, Sender, channel},
        thread,
        time::{Duration, Instant},
    };

    const LONG: Duration = Duration::from_secs(60);

    /// Waits until so many callers wait.
    fn until_waiting(shared: &Shared<u32>, count: usize) {
        let end = Instant::now() + LONG;
        while shared.lock().waiting != count {
            assert!(Instant::now() < end, "they do not wait");
            thread::yield_now();
        }
    }

    #[test]
    fn those_who_ask_while_it_is_found_out_share_what_is_found() {
        let shared = Shared::default();
        let ((begun, has_begun), (go_on, may_go_on)): ((Sender<()>, Receiver<()>), _) =
            (channel(), channel());
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                shared.get(move || {
                    begun.send(()).expect("the test waits");
                    may_go_on.recv_timeout(LONG).expect("the test lets it go on");
                    7
                })
            });
            has_begun.recv_timeout(LONG).expect("it begins");
            let others: Vec<_> = (0..3).map(|_| scope.spawn(|| shared.get(|| 8))).collect();
            until_waiting(&shared, 3);
            go_on.send(()).expect("it waits");
            assert_eq!(first.join().expect("no panic"), 7);
            assert!(others.into_iter().all(|other| other.join().expect("no panic") == 7));
        });
        assert_eq!(shared.get(|| 9), 9, "who asks later gets a new answer");
    }

    #[test]
    fn when_finding_out_fails_another_caller_tries_it() {
        let shared = Shared::default();
        let (begun, has_begun) = channel();
        thread::scope(|scope| {
            let failing = scope.spawn(|| {
                shared.get(|| {
                    begun.send(()).expect("the test waits");
                    until_waiting(&shared, 1);
                    panic!("as this test wants");
                })
            });
            has_begun.recv_timeout(LONG).expect("it begins");
            assert_eq!(shared.get(|| 8), 8);
            assert!(failing.join().is_err());
        });
    }
}
