//! Asking switches by SNMP (version 2c, RFC 3416): what their ports count, by IF-MIB (RFC 2863) and, where a
//! switch has it, EtherLike-MIB (RFC 3635).
//!
//! [`Switches`] are those of a cluster file that have `management`. All are asked at once, each within a time
//! limit, and what a switch says is held to be hostile: answers are bounded, and object identifiers must
//! increase. A port of the file is found among the switch's interfaces by their names ([`find`]).
//! [`PortSample::since`] compares two samples, and knows when a switch has begun to count anew.
#![forbid(unsafe_code)]

mod agent;
mod ask;
mod counters;
mod error;
mod interfaces;
mod mib;
mod ports;

pub use ask::{SwitchAnswer, Switches};
pub use counters::{Grown, PortSample, SwitchSample};
pub use error::SwitchError;
pub use ports::{Found, Interface, find};
