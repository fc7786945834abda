//! Packets in a fabric: switches with virtual cut-through and virtual channels, credits or Go & Stop, or
//! Ethernet switches that store, forward and drop; over any [`Network`](tasuki_topo::Network) and routing
//! tables.
//!
//! [`Fabric`] moves packets; a [`Load`] decides which host sends what to which, and is told what arrives.
//! `docs/internals/simulator.md` describes the model. Time is in picoseconds. A run depends only on its input
//! and its seed.
//!
//! # How a packet moves
//!
//! At every node a packet waits in the queue of the (channel, virtual channel) by which it came. The head of
//! a queue asks for its next channel: it moves when that channel is idle, the buffer at its end has room for
//! the whole packet, and the tail of the last packet has left the queue. Nothing is scheduled that need not
//! be: until when a channel or a queue is busy is a time to compare with, and returned credits are looked at
//! only when they are needed, so a packet that meets no other costs one event per hop.

mod deadlock;
mod drops;
mod error;
mod event;
mod exponential;
mod lane;
pub mod loads;
mod packet;
mod plan;
mod priority;
mod settings;
mod stats;
mod switch;
pub mod trace;
mod world;

pub use error::{Deadlock, FabricError};
pub use exponential::exponential;
pub use packet::Packet;
pub use settings::{Arbiter, Crossbar, FlowControl, Room, Settings, Switching};
pub use stats::Latencies;
pub use world::{Counts, Fabric, Load};

/// Picoseconds per microsecond.
pub const US: u64 = 1_000_000;
