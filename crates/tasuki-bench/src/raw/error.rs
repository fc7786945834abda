//! Errors of the two peers.

use super::protocol::Protocol;
use std::{io, net::SocketAddr};
use tasuki_sys::packet::PacketError;
use thiserror::Error;

/// Why two peers cannot measure, or why a test failed.
#[derive(Debug, Error)]
pub enum RawError {
    /// Not the JSON text of a [`Peer`].
    #[error("raw peer: {0}")]
    Specification(serde_json::Error),
    /// A number of the specification is out of range.
    #[error("raw peer: {0}")]
    Value(String),
    /// The control connection failed.
    #[error("raw peer: control connection with {address}: {doing}: {source}")]
    Control {
        /// The other peer's address, or the own one while it listens.
        address: SocketAddr,
        /// What was being done.
        doing: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The other peer cannot make this test.
    #[error("the other peer: {0}")]
    Refused(String),
    /// A data socket failed.
    #[error("{protocol}: {doing}: {source}")]
    Socket {
        /// The protocol.
        protocol: Protocol,
        /// What was being done.
        doing: &'static str,
        /// The error.
        source: io::Error,
    },
    /// A packet socket failed.
    #[error(transparent)]
    Packet(#[from] PacketError),
    /// Frames are to be sent, but no interface is named.
    #[error("packet-ring needs an interface")]
    NoInterface,
    /// No answer comes back.
    #[error("{protocol}: no answer to {tries} messages of {bytes} bytes in a row: is the path cut?")]
    Silent {
        /// The protocol.
        protocol: Protocol,
        /// Message size.
        bytes: u32,
        /// Number of tries.
        tries: u32,
    },
    /// The answer differs from what was sent.
    #[error("{protocol}: a message of {bytes} bytes came back changed at byte {at}")]
    Damaged {
        /// The protocol.
        protocol: Protocol,
        /// Message size.
        bytes: u32,
        /// Index of the first byte that differs.
        at: usize,
    },
}
