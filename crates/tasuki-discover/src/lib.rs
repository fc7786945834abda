//! Finding out how hosts are cabled, without a cluster file: every NIC says hello in frames of its own and
//! listens for others and for LLDP; cables, switches and what is wrong follow from what was heard.
//!
//! These parts perform no IO: [`Book`] (frames that came in on one NIC), [`infer()`] (from what all NICs
//! heard to a [`Graph`]), [`describe`] (from there to a cluster), and [`revised`] with [`patch()`] (what that
//! changes in a file that is there). An [`agent`] runs on every host, and a
//! [`Discoverer`] gives the agents their orders.
#![forbid(unsafe_code)]

pub mod agent;
mod away;
mod blame;
mod book;
mod describe;
mod discoverer;
mod error;
mod finding;
mod hearing;
mod infer;
mod known_switches;
mod lldp;
mod measure;
mod measuring;
mod model;
mod pairs;
mod patch;
mod protocol;
mod reach;
mod revise;

pub use book::Book;
pub use describe::{Description, describe};
pub use discoverer::{Discovered, Discoverer, Options};
pub use error::DiscoverError;
pub use finding::{Finding, Kind};
pub use infer::{Graph, Segment, infer};
pub use lldp::{LLDP_ETHERTYPE, LLDP_GROUP, LldpError, Neighbour};
pub use measure::Measured;
pub use model::{Carried, Heard, HostSight, Mac, NicSight, PortId};
pub use patch::patch;
pub use protocol::{AGENT_COMMAND, GUARD_COMMAND};
pub use reach::ssh_hosts;
pub use revise::revised;
