//! Simulation: an event kernel with virtual time; rails with all kinds of faults; the fault simulation of the
//! transport, which runs the real message and packet layers over them (`docs/internals/fault-simulation.md`
//! says what it demands); and packets in fabrics of switches ([`fabric`], `docs/internals/simulator.md`).
//!
//! Everything follows from one seed: a run uses no wall clock, no thread and no map in random order.
#![forbid(unsafe_code)]

mod channel;
pub mod fabric;
mod faults;
mod kernel;
mod reached;
pub mod soak;
pub mod transport;

pub use channel::{Arrival, Channel, ETHERNET_OVERHEAD, Fate, Line};
pub use faults::{Burst, Faults};
pub use kernel::{Kernel, Time};
pub use reached::REACHED;
pub use tasuki_random::{Random as Rng, mix};
