//! What two peers are told: the tests, and each peer's addresses and interface.

use super::{burst::DrainTest, protocol::Protocol, streamed::StreamTest};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddr};

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Test {
    /// Half of the time that a message takes to the other peer and back.
    PingPong {
        /// The protocol.
        protocol: Protocol,
        /// Message sizes in bytes: 4 to 1 MiB (65507 with UDP).
        bytes: Vec<u32>,
        /// Time per size, seconds.
        seconds: f64,
        /// Number of batches per size.
        samples: u32,
    },
    /// The throughput of full frames in one direction.
    Throughput {
        /// The protocol (`tcp` and `tcp-spin` are the same here).
        protocol: Protocol,
        /// Time to count, seconds.
        seconds: f64,
        /// Time before counting, in which queues fill and shapers spend the tokens that they have saved;
        /// seconds.
        warm_up_s: f64,
        /// Offered load of UDP and frames in bit/s on the line; `None`: as fast as the processor can send. A
        /// load slightly above the line's rate fills it, and leaves processor time to a receiver on the same
        /// machine.
        pace_bits_per_second: Option<u64>,
    },
    /// Bursts to a receiver that empties its buffer as fast as it can, or as fast as it is told to, without
    /// any flow control: how fast it is, and how much is lost.
    Drain(DrainTest),
    /// Messages of one length over TCP connections, with the processor time of both sides.
    Stream(StreamTest),
}

/// The peer that serves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Serve {
    /// The address at which it waits for the other peer's control connection.
    pub listen: SocketAddr,
    /// Interface for frames, to which TCP and UDP are bound too. `None`: no frames, and routing decides.
    pub interface: Option<String>,
    /// Processor to stay on; `None`: any.
    pub cpu: Option<usize>,
    /// Longest wait for the other peer's connection, and for each of its requests; seconds.
    pub silence_limit_s: f64,
}

/// The peer that measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The address at which the other peer listens. The connection is tried again until `connect_s` has
    /// passed.
    pub server: SocketAddr,
    /// The other peer's address on the path to measure.
    pub data: Ipv4Addr,
    /// Interface for frames, to which TCP and UDP are bound too. `None`: no frames, and routing decides.
    pub interface: Option<String>,
    /// Processor to stay on; `None`: any.
    pub cpu: Option<usize>,
    /// Line rate, of which throughput is stated as a share; bit/s.
    pub line_bits_per_second: Option<u64>,
    /// Longest wait for the connection to the other peer, seconds.
    pub connect_s: f64,
    /// The tests, in this order.
    pub tests: Vec<Test>,
}

/// Either peer, as JSON: `{"role": "serve", ...}` or `{"role": "measure", ...}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum Peer {
    /// The peer that serves.
    Serve(Serve),
    /// The peer that measures.
    Measure(Measure),
}
