//! How often things happened: an oracle that finds no fault proves nothing about what was never reached.

use std::collections::BTreeMap;

/// Counts of things that happened, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    /// Counts that `what` happened `times` more times.
    pub fn add(&mut self, what: &'static str, times: u64) {
        if times > 0 {
            *self.0.entry(what).or_default() += times;
        }
    }

    /// How often `what` happened.
    pub fn count(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Coverage) {
        other.0.iter().for_each(|(what, times)| self.add(what, *times));
    }

    /// Everything that happened, with its count, in order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(what, times)| (*what, *times))
    }
}
