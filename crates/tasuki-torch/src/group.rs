//! A group: collective operations in order, one at a time.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::Error;
use crate::net::{Deadline, Net};
use crate::operation::Operation;
use crate::states::guard;
use crate::turn::Turn;

/// The engine's tag of the first collective operation; each has the next. Tags of sends and receives are
/// below.
const COLLECTIVE: u64 = 1 << 62;

/// How long the group's own thread leaves an operation to a thread that may wait for it.
const HEAD_START: Duration = Duration::from_micros(100);

struct Queued {
    number: u64,
    operation: Operation,
    timeout: Duration,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Queued>,
    last: u64,
    /// All up to this one are done.
    done: u64,
    failed: Option<Error>,
    closing: bool,
}

struct Shared {
    net: Net,
    queue: Mutex<Queue>,
    /// Something was queued, done, or failed.
    changed: Condvar,
    /// Held by the thread that works the queue off.
    working: Mutex<()>,
}

/// The ranks of a process group, seen from one of them.
pub struct Group {
    shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
}

impl Group {
    pub(crate) fn open(rank: usize, size: usize) -> Result<Group, Error> {
        if rank >= size {
            return Err(Error::Usage("the rank is not below the number of ranks"));
        }
        let shared = Arc::new(Shared {
            net: Net::open(rank, size)?,
            queue: Mutex::default(),
            changed: Condvar::new(),
            working: Mutex::new(()),
        });
        let own = Arc::clone(&shared);
        let worker = thread::Builder::new().name("tasuki-torch".into()).spawn(move || own.work());
        let worker = worker.map_err(|error| Error::Open(format!("no thread can be started: {error}")))?;
        Ok(Group { shared, worker: Some(worker) })
    }

    pub(crate) fn net(&self) -> &Net {
        &self.shared.net
    }

    /// Queues an operation and returns its number.
    ///
    /// # Safety
    /// The memory of the operation is left alone until it is done or has failed.
    pub(crate) unsafe fn start(&self, operation: Operation, timeout: Duration) -> Result<u64, Error> {
        let mut queue = guard(&self.shared.queue);
        if let Some(error) = &queue.failed {
            return Err(error.clone());
        }
        queue.last += 1;
        let number = queue.last;
        queue.waiting.push_back(Queued { number, operation, timeout });
        drop(queue);
        self.shared.changed.notify_all();
        Ok(number)
    }

    /// Whether an operation is done; an error if it has failed.
    pub(crate) fn is_done(&self, number: u64) -> Result<bool, Error> {
        let queue = guard(&self.shared.queue);
        if number <= queue.done {
            return Ok(true);
        }
        queue.failed.as_ref().map_or(Ok(false), |error| Err(error.clone()))
    }

    /// Waits until an operation is done or has failed, and works the queue off meanwhile.
    pub(crate) fn wait(&self, number: u64) -> Result<(), Error> {
        loop {
            if self.is_done(number)? {
                return Ok(());
            }
            let working = match self.shared.working.try_lock() {
                Ok(working) => Some(working),
                // Nothing is behind this lock that a panic could have left half done.
                Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => None,
            };
            if working.is_some() {
                self.shared.next();
                continue;
            }
            let queue = guard(&self.shared.queue);
            if queue.done < number && queue.failed.is_none() {
                // The worker tells of every end, but may have let go of its lock before this thread slept.
                let _ = self.shared.changed.wait_timeout(queue, Duration::from_millis(1));
            }
        }
    }
}

impl Shared {
    /// The group's own thread.
    fn work(&self) {
        loop {
            {
                let mut queue = guard(&self.queue);
                while queue.waiting.is_empty() && !queue.closing {
                    queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                if queue.closing {
                    return;
                }
            }
            // Most programs wait at once, and then do it themselves, without a change of threads.
            thread::sleep(HEAD_START);
            let _working = guard(&self.working);
            self.next();
        }
    }

    /// Does the next operation. Called with `working` held.
    fn next(&self) {
        let Some(queued) = guard(&self.queue).waiting.pop_front() else { return };
        let mut turn = Turn {
            net: &self.net,
            tag: COLLECTIVE + queued.number,
            deadline: Deadline::after(queued.timeout),
        };
        // SAFETY: as the caller of `start` has promised; it is neither done nor failed yet.
        self.carry_out(queued.number, || unsafe { queued.operation.run(&mut turn) });
    }

    /// Runs an operation, and tells all that wait for it what has become of it.
    fn carry_out(&self, number: u64, run: impl FnOnce() -> Result<(), Error>) {
        // A panic must not end the thread: all that wait for the operation would wait for ever.
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            self.net.give_up();
            Err(Error::Panicked)
        });
        let mut queue = guard(&self.queue);
        match result {
            Ok(()) => queue.done = number,
            Err(error) => {
                // Those behind it have not begun; the endpoint has been closed.
                queue.waiting.clear();
                queue.failed.get_or_insert(error);
            }
        }
        drop(queue);
        self.changed.notify_all();
    }
}

impl Drop for Group {
    /// Ends what has not begun. What is under way fails, when the endpoint is closed.
    fn drop(&mut self) {
        {
            let mut queue = guard(&self.shared.queue);
            queue.closing = true;
            queue.waiting.clear();
            if queue.done < queue.last {
                queue.failed.get_or_insert(Error::Closed);
            }
        }
        self.shared.changed.notify_all();
        self.shared.net.give_up();
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;
    use crate::operation::Memory;

    #[test]
    fn a_panic_is_told_to_all_that_wait_and_to_later_calls() {
        let group = Group::open(0, 1).expect("an endpoint");
        guard(&group.shared.queue).last = 1;
        thread::scope(|scope| {
            let working = guard(&group.shared.working);
            let waits = scope.spawn(|| group.wait(1));
            group.shared.carry_out(1, || panic!("on purpose"));
            drop(working);
            assert!(matches!(waits.join().expect("no panic"), Err(Error::Panicked)));
        });
        let none = || Memory { ptr: null_mut(), len: 0 };
        let barrier = Operation::new([8, 0, 0, 0], (none(), none()), (0, 1)).expect("a barrier");
        // SAFETY: it has no memory.
        let later = unsafe { group.start(barrier, Duration::from_secs(60)) };
        assert!(matches!(later, Err(Error::Panicked)));
    }
}
