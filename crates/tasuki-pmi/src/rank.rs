//! The connection of one rank.

use crate::{Limits, lines::Lines};

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has said nothing.
    Fresh,
    /// It has begun.
    Running,
    /// It has said that it leaves. It may begin once more.
    Finalized,
    /// Its connection has ended, or was ended.
    Closed,
}

/// What is known of a rank's connection.
#[derive(Debug)]
pub struct Rank {
    /// How far it has come.
    pub stage: Stage,
    /// What it has sent and is not a whole request yet.
    pub lines: Lines,
    /// Whether its connection has ended without its ever having begun.
    pub is_absent: bool,
    /// In how many barriers it is.
    pub barriers: usize,
    keys: usize,
    bytes: usize,
}

impl Rank {
    /// A rank that has not begun.
    pub fn new() -> Self {
        Self {
            stage: Stage::Fresh,
            lines: Lines::default(),
            is_absent: false,
            barriers: 0,
            keys: 0,
            bytes: 0,
        }
    }

    /// Whether it has begun, and has not left.
    pub fn has_begun(&self) -> bool {
        self.stage == Stage::Running
    }

    /// Counts a put.
    ///
    /// # Errors
    /// If the rank has put more than it may.
    pub fn count_put(&mut self, bytes: usize, limits: &Limits) -> Result<(), String> {
        self.keys += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.keys > limits.keys {
            return Err(format!("more than {} keys put by one rank", limits.keys));
        }
        if self.bytes > limits.bytes {
            return Err(format!("more than {} bytes put by one rank", limits.bytes));
        }
        Ok(())
    }
}
