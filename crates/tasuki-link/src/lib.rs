//! Datapaths between hosts, one module per lane. This crate knows sockets and packets; what is in the packets it does not know.

mod address;
mod control;
mod error;
mod queue;
mod receive;
mod refusal;
mod send;
mod socket;
mod stats;
mod udp;

pub use error::LinkError;
pub use refusal::{Refusal, RefusalKind};
pub use stats::UdpStats;
pub use udp::{UdpLink, UdpOptions};
