//! A queue of jobs for the threads that open and close sockets. Users take turns, so that the many jobs of
//! one user do not delay another's.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

/// Jobs, by user id.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
}

struct State<T> {
    jobs: BTreeMap<u32, VecDeque<T>>,
    /// The user whose job was taken last.
    last: u32,
    closed: bool,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Queue<T> {
        let state = State { jobs: BTreeMap::new(), last: 0, closed: false };
        Queue { state: Mutex::new(state), filled: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // The state is consistent between any two statements, so a panic of another thread does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, uid: u32, job: T) {
        self.lock().jobs.entry(uid).or_default().push_back(job);
        self.filled.notify_one();
    }

    /// Waits for the next job; `None` when the queue is closed.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.next() {
                return Some(job);
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Closes the queue, which ends all waits.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }
}

impl<T> State<T> {
    fn next(&mut self) -> Option<T> {
        let after = self.jobs.range((Bound::Excluded(self.last), Bound::Unbounded)).next();
        let uid = *after.or_else(|| self.jobs.iter().next())?.0;
        let jobs = self.jobs.get_mut(&uid)?;
        let job = jobs.pop_front();
        if jobs.is_empty() {
            self.jobs.remove(&uid);
        }
        self.last = uid;
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_take_turns_whatever_they_have_heaped_up() {
        let queue = Queue::new();
        (0..5).for_each(|job| queue.push(7, (7, job)));
        (0..2).for_each(|job| queue.push(3, (3, job)));
        queue.push(9, (9, 0));
        let order: Vec<_> = (0..8).map(|_| queue.pop().unwrap()).collect();
        assert_eq!(order, [(3, 0), (7, 0), (9, 0), (3, 1), (7, 1), (7, 2), (7, 3), (7, 4)]);
        queue.close();
        assert_eq!(queue.pop(), None);
    }
}
