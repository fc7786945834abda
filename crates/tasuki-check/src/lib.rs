//! Proving a cluster: which NIC is at the other end of every cable, does everything arrive that is sent, and
//! which part is at fault.
//!
//! An [`agent`] runs on every host and does what it is ordered, line by line. A [`Checker`] gives the orders
//! to all agents, and judges their reports. The judgements ([`judge`]) are pure functions of reports. A
//! [`BurnIn`] runs parallel programs afterwards.
#![forbid(unsafe_code)]

pub mod agent;
mod agents;
mod burn_in;
mod checker;
mod error;
mod finding;
mod firewall;
mod html;
pub mod judge;
mod protocol;
mod statistics;

pub use agents::{AGENT_COMMAND, Agents};
pub use burn_in::{BurnIn, BurnInOptions, nas_kernels};
pub use checker::{Checker, Options, Progress, expected_cluster};
pub use error::CheckError;
pub use finding::{Finding, Kind, Part, Report};
pub use firewall::add_firewalls;
pub use html::{faults, page, verdict};
pub use protocol::{
    AddressFacts, Answer, Arrivals, Facts, Heard, NicFacts, Order, Pinged, RandomReport, RouteFacts, Sent,
    Tally,
};
pub use tasuki_switch::Switches;
