//! How often interesting things happened: without it, silence of the oracle would mean nothing.

use std::collections::BTreeMap;

/// Counts of things that happened, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    /// `what` happened `times` times more.
    pub fn add(&mut self, what: &'static str, times: u64) {
        if times > 0 {
            *self.0.entry(what).or_default() += times;
        }
    }

    /// How often `what` happened.
    pub fn count(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// All of `other` happened too.
    pub fn merge(&mut self, other: &Coverage) {
        other.0.iter().for_each(|(what, times)| self.add(what, *times));
    }

    /// Everything that happened, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(what, times)| (*what, *times))
    }
}
