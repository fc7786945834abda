//! Raw lanes for programs without privileges: a broker opens the socket and passes it over a Unix socket
//! (`docs/guide/security.md`). One connection is one lane: a request, an answer, and then the connection
//! stays open for as long as the lane is used, by which the broker knows that it is. Request and answer are
//! single messages of a `SOCK_SEQPACKET` socket.

mod client;
mod protocol;
mod seqpacket;

pub use client::{Broker, BrokerError};
pub use protocol::{Answer, Malformed, NAME_MAX, Outcome, REQUEST_BYTES, Request, TEXT_MAX, Wish};

/// The socket on which the broker listens by default.
pub const SOCKET: &str = "/run/tasuki/broker.sock";
/// Environment variable that names another socket. If it is empty no broker is asked.
pub const VARIABLE: &str = "TASUKI_BROKER";
