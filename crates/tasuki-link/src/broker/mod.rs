//! Raw lanes for programs without privileges: a broker opens the socket and passes it over a Unix socket (`docs/guide/security.md`).
//!
//! One connection is one lane: a request, an answer, and then the connection stays open as long as the lane is used, which is how
//! the broker knows. Both are single messages of a `SOCK_SEQPACKET` socket.

mod client;
mod protocol;
mod seqpacket;

pub use client::{Broker, BrokerError};
pub use protocol::{Answer, Malformed, NAME_MAX, Outcome, REQUEST_BYTES, Request, TEXT_MAX, Wish};

/// Where the broker listens if nothing else is said.
pub const SOCKET: &str = "/run/tasuki/broker.sock";
/// Variable that names another place; empty: no broker is asked.
pub const VARIABLE: &str = "TASUKI_BROKER";
