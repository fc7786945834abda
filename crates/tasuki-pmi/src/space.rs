//! The key space of a job, as one host has it: what its own ranks have put, and what fences have brought.

use crate::shape::{KEY_MAX, VALUE_MAX};
use std::collections::{BTreeMap, HashMap};

/// Keys that begin so are the server's own.
pub const RESERVED: &str = "PMI_";

/// The key space.
#[derive(Debug, Default)]
pub struct Space {
    values: HashMap<String, String>,
    /// Keys in the order in which they first came, for requests by number.
    order: Vec<String>,
    /// What this host's ranks have put since its last part of a fence.
    fresh: BTreeMap<String, String>,
}

/// Whether a key and a value may be put.
///
/// # Errors
/// Why not, for the rank.
pub fn check(key: &str, value: &str) -> Result<(), String> {
    if key.is_empty() || key.len() >= KEY_MAX {
        return Err(format!("a key has 1 to {} bytes", KEY_MAX - 1));
    }
    if value.len() >= VALUE_MAX {
        return Err(format!("a value has at most {} bytes", VALUE_MAX - 1));
    }
    if key.starts_with(RESERVED) {
        return Err(format!("keys that begin with {RESERVED} are reserved"));
    }
    Ok(())
}

/// Bytes that a key and a value take in a message, with what says how long they are.
pub fn bytes(key: &str, value: &str) -> usize {
    key.len() + value.len() + 4
}

impl Space {
    /// A rank of this host puts a value. Ranks of this host see it at once, others after a fence. A later
    /// value takes the place of an earlier one.
    pub fn put(&mut self, key: String, value: String) {
        self.fresh.insert(key.clone(), value.clone());
        self.insert(key, value);
    }

    /// A fence brings a value.
    pub fn insert(&mut self, key: String, value: String) {
        if self.values.insert(key.clone(), value).is_none() {
            self.order.push(key);
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// The key with this number, and its value.
    pub fn by_index(&self, index: usize) -> Option<(&str, &str)> {
        let key = self.order.get(index)?;
        Some((key, self.get(key)?))
    }

    /// What this host's ranks have put since the last call, in the order of keys.
    pub fn take_fresh(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.fresh).into_iter().collect()
    }
}
