//! Operations that give no completion and are counted nevertheless: the engine reports them, for the counter's sake, and here is
//! written down that the queue shall not hear of them.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::guard::lock;

/// How many silent operations are under way, by direction and context. A program that uses the same context for silent and
/// for other operations of one direction hears of the right number of them.
#[derive(Default)]
pub struct Silent {
    /// Spares the lock where nobody counts, which is nearly everywhere.
    total: AtomicUsize,
    operations: Mutex<HashMap<(bool, u64), usize>>,
}

impl Silent {
    /// An operation begins.
    pub fn add(&self, send: bool, context: u64) {
        self.total.fetch_add(1, Ordering::AcqRel);
        *lock(&self.operations).entry((send, context)).or_default() += 1;
    }

    /// Something of an operation has completed: whether it is a silent one. `last`: it ends.
    pub fn take(&self, send: bool, context: u64, last: bool) -> bool {
        if self.total.load(Ordering::Acquire) == 0 {
            return false;
        }
        let mut operations = lock(&self.operations);
        let Some(count) = operations.get_mut(&(send, context)) else {
            return false;
        };
        if last {
            self.total.fetch_sub(1, Ordering::AcqRel);
            *count -= 1;
            if *count == 0 {
                operations.remove(&(send, context));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_taken_once() {
        let silent = Silent::default();
        assert!(!silent.take(true, 1, true));
        silent.add(true, 1);
        silent.add(true, 1);
        assert!(!silent.take(false, 1, true), "the other direction");
        assert!(silent.take(true, 1, false), "goes on");
        assert!(silent.take(true, 1, true));
        assert!(silent.take(true, 1, true));
        assert!(!silent.take(true, 1, true));
        assert_eq!(silent.total.load(Ordering::Relaxed), 0);
    }
}
