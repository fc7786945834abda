//! Datapaths between hosts, one module per lane. This crate knows sockets and packets. Of what is in a packet
//! it knows only where the addressed endpoint stands, because the kernel sorts frames by it.

mod address;
pub mod broker;
mod bulk;
mod control;
mod error;
mod follower;
mod frames;
mod queue;
mod raw;
mod raw_filter;
mod raw_lanes;
mod receive;
mod refusal;
mod send;
mod socket;
mod stats;
mod stream;
mod udp;

pub use bulk::{BulkSocket, Piece};
pub use error::LinkError;
pub use raw::{Mac, RawLink, RawOptions, open_for_another};
pub use raw_lanes::open_lanes;
pub use refusal::{QUOTE_MAX, Refusal, RefusalKind};
pub use stats::{RawStats, UdpStats};
pub use stream::{Stream, StreamEnd, StreamListener};
pub use tasuki_sys::netlink::LinkWatch;
pub use udp::{UdpLink, UdpOptions};
