//! Packets in a fabric: switches with virtual cut-through and virtual channels, credits or Go & Stop, or Ethernet
//! switches that store, forward and drop. Over any [`Network`](tasuki_topo::Network) and routing tables.
//!
//! [`Fabric`] moves packets; a [`Load`] says who sends what to whom, and hears what arrives. `docs/simulator.md` has
//! the model in words. Time is in picoseconds. A run depends on its input and its seed only.
//!
//! # How a packet moves
//!
//! At every node a packet waits in the queue of the (channel, virtual channel) it came by. The head of a queue asks for
//! its next channel: when that is idle, the buffer at its end has room for the whole packet, and the tail of the last
//! packet has left the queue, it goes. Nothing is scheduled that need not be: a channel's and a
//! queue's "busy until" are times to compare with, and returning credits are looked at by who needs them, so a packet
//! that meets no other costs one event per hop.

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

pub use deadlock::Deadlock;
pub use error::FabricError;
pub use exponential::exponential;
pub use packet::Packet;
pub use settings::{Arbiter, Crossbar, FlowControl, Room, Settings, Switching};
pub use stats::Latencies;
pub use world::{Counts, Fabric, Load};

/// Picoseconds per microsecond.
pub const US: u64 = 1_000_000;
