//! The raw limits of a path between two hosts: latency and throughput of TCP, UDP and bare frames without any
//! MPI.
//!
//! There are two peers: one serves ([`serve`]), the other measures ([`measure`]) and gets all results. They
//! agree on each test over a control connection (TCP), which is idle while data flows. [`peer`] runs either
//! of them, for a process that is started inside of a host: it takes a JSON text and returns a JSON text.
//!
//! No wait is unbounded: a peer that dies closes the control connection, and lost frames are sent again
//! (ping-pong) or counted (throughput).

mod burst;
mod channel;
mod client;
mod control;
mod drain;
mod error;
mod frames;
mod limits;
mod outcome;
mod pingpong;
mod protocol;
mod server;
mod snapshot;
mod sockets;
mod specification;
mod spin;
mod stream;
mod streamed;
mod throughput;

pub use burst::{Burst, Drain, DrainTest};
pub use client::measure;
pub use error::RawError;
pub use limits::limits;
pub use outcome::{Failure, Outcome, PingPong, Throughput};
pub use protocol::{ETHERTYPE, Protocol};
pub use server::serve;
pub use specification::{Measure, Peer, Serve, Test};
pub(crate) use spin::{cpu_seconds, pin};
pub use streamed::{Side, StreamTest, Streamed};

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
