//! What has become of what was posted, and which thread asks the engine for it.

use std::collections::BTreeSet;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;

/// What has become of an operation.
#[derive(Clone, Debug)]
pub(crate) enum State {
    /// It is under way; the bytes that a receive expects, all of which must come.
    Pending(Option<u64>),
    /// It is over; the rank of the other side.
    Done(usize),
    Failed(Error),
}

/// Operations by their names, which are counted from 1.
#[derive(Default)]
pub(crate) struct States {
    known: Mutex<Known>,
    /// An operation is over, or no thread leads any more.
    changed: Condvar,
}

#[derive(Default)]
struct Known {
    last: u64,
    states: HashMap<u64, State>,
    /// Receives of any rank that are under way.
    open: BTreeSet<u64>,
    /// When it was last asked which these are.
    looked: Option<Instant>,
    is_led: bool,
    /// Threads that wait for a change.
    waiting: usize,
}

/// The right to take completions from the engine. If two threads did so, each would take what the other one
/// sleeps for.
pub(crate) struct Lead<'a>(&'a States);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut known = guard(&self.0.known);
        known.is_led = false;
        self.0.tell(known);
    }
}

pub(crate) fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl States {
    /// Names an operation that is about to be posted. `is_open`: a receive of any rank.
    pub fn begin(&self, wanted: Option<u64>, is_open: bool) -> u64 {
        let mut known = guard(&self.known);
        known.last += 1;
        let name = known.last;
        known.states.insert(name, State::Pending(wanted));
        if is_open {
            known.open.insert(name);
        }
        name
    }

    /// Forgets an operation that could not be posted.
    pub fn forget(&self, name: u64) {
        let mut known = guard(&self.known);
        known.states.remove(&name);
        known.open.remove(&name);
    }

    /// Notes what has become of an operation. `state` is given the bytes that it expects.
    pub fn end(&self, name: u64, state: impl FnOnce(Option<u64>) -> State) {
        let mut known = guard(&self.known);
        known.open.remove(&name);
        if let Some(place) = known.states.get_mut(&name)
            && let State::Pending(wanted) = *place
        {
            *place = state(wanted);
        }
        self.tell(known);
    }

    /// Notes that everything that was under way has failed.
    pub fn fail_all(&self, error: &Error) {
        let mut known = guard(&self.known);
        known.open.clear();
        for state in known.states.values_mut() {
            if matches!(state, State::Pending(_)) {
                *state = State::Failed(error.clone());
            }
        }
        self.tell(known);
    }

    /// What has become of an operation, which is forgotten if it is over.
    pub fn take(&self, name: u64) -> State {
        match guard(&self.known).states.entry(name) {
            Entry::Vacant(_) => State::Failed(Error::Usage("there is no such operation")),
            Entry::Occupied(place) if matches!(place.get(), State::Pending(_)) => place.get().clone(),
            Entry::Occupied(place) => place.remove(),
        }
    }

    /// The receives of any rank, unless it was asked for them less than `pause` ago.
    pub fn open(&self, pause: Duration) -> Vec<u64> {
        let mut known = guard(&self.known);
        if known.open.is_empty() || known.looked.is_some_and(|at| at.elapsed() < pause) {
            return Vec::new();
        }
        known.looked = Some(Instant::now());
        known.open.iter().copied().collect()
    }

    /// The lead, unless another thread has it.
    pub fn lead(&self) -> Option<Lead<'_>> {
        let was_led = std::mem::replace(&mut guard(&self.known).is_led, true);
        (!was_led).then(|| Lead(self))
    }

    /// Sleeps until an operation may be over, no thread leads, or the time is over.
    pub fn sleep(&self, name: u64, time: Duration) {
        let mut known = guard(&self.known);
        if known.is_led && matches!(known.states.get(&name), Some(State::Pending(_))) {
            known.waiting += 1;
            let woken = self.changed.wait_timeout(known, time).unwrap_or_else(PoisonError::into_inner);
            let (mut known, _) = woken;
            known.waiting -= 1;
        }
    }

    fn tell(&self, known: MutexGuard<'_, Known>) {
        let is_awaited = known.waiting > 0;
        drop(known);
        if is_awaited {
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// One that is not woken sleeps for an hour.
    #[test]
    fn a_thread_that_does_not_lead_is_woken_by_its_end_and_when_nobody_leads() {
        let states = States::default();
        let hour = Duration::from_secs(3_600);
        for is_ended in [true, false] {
            let name = states.begin(None, false);
            let lead = states.lead().expect("nobody leads");
            assert!(states.lead().is_none());
            thread::scope(|scope| {
                let sleeps = scope.spawn(|| states.sleep(name, hour));
                while guard(&states.known).waiting == 0 {
                    thread::yield_now();
                }
                if is_ended {
                    states.end(name, |_| State::Done(3));
                    sleeps.join().expect("no panic");
                    drop(lead);
                    assert!(matches!(states.take(name), State::Done(3)));
                } else {
                    drop(lead);
                    sleeps.join().expect("no panic");
                    assert!(matches!(states.take(name), State::Pending(None)));
                }
            });
        }
    }
}
