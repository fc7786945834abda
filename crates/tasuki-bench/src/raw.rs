//! The raw limits of a path between two hosts: latency and throughput of TCP, UDP and bare frames without any
//! MPI.
//!
//! There are two peers: one serves ([`serve`]), the other measures ([`measure`]) and gets all results. They
//! agree on each test over a control connection (TCP), which is idle while data flows. [`peer`] runs either
//! of them, for a process that is started inside of a host: it takes a JSON text and returns a JSON text.
//!
//! No wait is unbounded: a peer that dies closes the control connection, and lost frames are sent again
//! (ping-pong) or counted (throughput).

mod channel;
mod client;
mod control;
mod drain;
mod error;
mod frames;
mod limits;
mod outcome;
mod pingpong;
mod server;
mod snapshot;
mod sockets;
mod specification;
mod spin;
mod stream;
mod throughput;

pub use client::measure;
pub use drain::{Burst, Drain, DrainTest};
pub use error::RawError;
pub use limits::limits;
pub use outcome::{Failure, Outcome, PingPong, Throughput};
pub use server::serve;
pub use specification::{Measure, Peer, Serve, Test};
pub(crate) use spin::{cpu_seconds, pin};
pub use stream::{Side, StreamTest, Streamed};

use serde::{Deserialize, Serialize};
use std::fmt;

/// Ethertype of the frames of a raw path: IEEE 802 Local Experimental 1, for use within a private network.
pub const ETHERTYPE: u16 = 0x88B5;

/// The protocol of a test, and how its peers wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TCP; the peers sleep in the kernel until something arrives.
    Tcp,
    /// TCP; the peers poll.
    TcpSpin,
    /// UDP; the peers poll.
    Udp,
    /// Frames of an ethertype of their own ([`ETHERTYPE`]); the peers poll a TPACKET_V2 ring.
    PacketRing,
}

impl Protocol {
    /// Name in records, as a stack.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::TcpSpin => "tcp-spin",
            Self::Udp => "udp",
            Self::PacketRing => "packet-ring",
        }
    }

    /// Datapath, as records state it.
    pub fn lane(self) -> &'static str {
        match self {
            Self::Tcp | Self::TcpSpin => "tcp",
            Self::Udp => "udp",
            Self::PacketRing => "raw",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Runs the peer that a JSON text describes ([`Peer`]) and returns its results as JSON: an [`Outcome`] if it
/// measures, `{}` if it serves.
pub fn peer(specification: &str) -> Result<String, RawError> {
    match serde_json::from_str(specification).map_err(RawError::Specification)? {
        Peer::Serve(options) => serve(&options).map(|()| "{}".into()),
        Peer::Measure(options) => {
            let outcome = measure(&options)?;
            serde_json::to_string(&outcome).map_err(RawError::Specification)
        }
    }
}
