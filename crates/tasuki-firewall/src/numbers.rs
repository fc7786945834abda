//! The numbers that arriving datagrams carry.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Most numbers that are kept: strangers' datagrams must not fill memory.
const NUMBERS_MAX: usize = 1 << 17;

/// Numbers that one thread adds and another reads.
#[derive(Clone, Default)]
pub struct Numbers(Arc<Mutex<BTreeSet<u64>>>);

impl Numbers {
    /// Adds a number, if there is room.
    pub fn add(&self, number: u64) {
        let mut all = self.lock();
        if all.len() < NUMBERS_MAX {
            all.insert(number);
        }
    }

    /// All that have come so far, each once.
    pub fn all(&self) -> Vec<u64> {
        self.lock().iter().copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_do_not_fill_memory() {
        let numbers = Numbers::default();
        (0..2 * NUMBERS_MAX as u64).for_each(|number| numbers.add(number));
        assert_eq!(numbers.all().len(), NUMBERS_MAX);
    }
}
