//! Firewalls between the hosts of a cluster: found out by what arrives, explained by their rules.
//!
//! [`probe`] has every host send datagrams to every other, over every rail and between identity addresses,
//! each from a socket of its own, so that nothing counts as an answer to something else. What does not arrive
//! although the NIC has heard it (a packet socket hears what filters drop later) was dropped by the host.
//! Which rule does so is read from the rules of nftables, or of older iptables, by [`rules`], which is pure.
#![forbid(unsafe_code)]

pub mod agent;
mod judge;
mod numbers;
mod probe;
mod protocol;
mod remedy;
pub mod rules;
mod tap;

pub use judge::{Blocked, Cause, Flow};
pub use probe::probe;
pub use protocol::AGENT_COMMAND;
pub use remedy::Remedy;
