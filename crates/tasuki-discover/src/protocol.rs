//! What the discoverer orders, and what agents answer: one JSON value a line.

use crate::model::HostSight;
use serde::{Deserialize, Serialize};

/// The hidden subcommand of `tasuki` that is an agent.
pub const AGENT_COMMAND: &str = "discover-agent";
/// The hidden subcommand of `tasuki` that sets NICs down again when its agent has ended.
pub const GUARD_COMMAND: &str = "discover-guard";

/// An order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Choose the NICs, bring up those that are down, and listen from now on. Answered by what the host is.
    Begin {
        /// Number of this run.
        run: u64,
        /// The host's number in the list, from 0.
        host: usize,
        /// NICs that take part although they would be left alone.
        include: Vec<String>,
        /// How long NICs that were brought up may take to get a carrier, milliseconds.
        settle_ms: u64,
    },
    /// Say hello on all NICs for so many milliseconds.
    Greet {
        /// How long.
        ms: u64,
    },
    /// Tell what was heard so far.
    Report,
    /// Put everything back, and say so.
    End,
}

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Order::Begin`] and [`Order::Report`].
    Sight(Box<HostSight>),
    /// To [`Order::Greet`] and [`Order::End`].
    Done,
    /// What could not be done, and why.
    Failed(String),
}
