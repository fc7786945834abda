//! Applying a host's part of the address plan to the machine (or lab host) that we are on.
//!
//! Everything acts on the network namespace of the calling thread, so the lab's hosts and real machines are
//! configured by the same code.
#![forbid(unsafe_code)]

mod apply;
mod identity;
mod offload;
mod sysctl;

pub use apply::{HostError, apply};
pub use offload::set_offloads;
