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
    /// Send frames by which the way from a NIC to another is measured.
    Send {
        /// The NIC, by its number in the host's list.
        nic: usize,
        /// The frames.
        train: Train,
    },
    /// Tell what was heard so far.
    Report,
    /// Put everything back, and say so.
    End,
}

/// Frames by which a cable is measured, in the order in which they are sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Train {
    /// Tells one trial of the run from another.
    pub trial: u32,
    /// Payloads of single frames, bytes, growing.
    pub sizes: Vec<u32>,
    /// Payload of every frame of the train, bytes.
    pub bytes: u32,
    /// Frames that fill the queues on the way.
    pub fill: u32,
    /// Frames behind them, which count.
    pub count: u32,
    /// The pace, in bits of the wire per second.
    pub bits_per_second: u64,
}

/// What was sent of a train.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Frames that count.
    pub frames: u32,
    /// Time in which they were sent, ns.
    pub ns: u64,
    /// Time of that in which there was no room for a frame, ns: the cable pushes back on its sender.
    pub waited_ns: u64,
}

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Order::Begin`] and [`Order::Report`].
    Sight(Box<HostSight>),
    /// To [`Order::Greet`] and [`Order::End`].
    Done,
    /// To [`Order::Send`].
    Sent(Sent),
    /// What could not be done, and why.
    Failed(String),
}
