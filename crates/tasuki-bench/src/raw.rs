//! The raw limits of a path between two hosts: what TCP, UDP and bare frames give without any MPI.
//!
//! Two peers: one serves ([`serve`]), the other measures ([`measure`]) and has all results. They agree on each
//! test over a TCP connection of their own, which is idle while data flows. [`peer`] is both in one, for a
//! process that is started inside of a host: a JSON text in, a JSON text out.
//!
//! Nothing waits without a bound: a peer that dies closes the control connection, and lost frames are sent
//! again (ping-pong) or counted (throughput).

mod channel;
mod client;
mod control;
mod drain;
mod frames;
mod limits;
mod look;
mod pingpong;
mod server;
mod sockets;
mod spin;
mod stream;
mod throughput;

pub use client::measure;
pub use drain::{Burst, Drain, DrainTest};
pub use limits::limits;
pub use server::serve;
pub(crate) use spin::{cpu_seconds, pin};
pub use stream::{Side, StreamTest, Streamed};

use serde::{Deserialize, Serialize};
use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
};
use tasuki_sys::packet::PacketError;
use thiserror::Error;

/// Ethertype of our frames: IEEE 802 Local Experimental 1, for use within a private network.
pub const ETHERTYPE: u16 = 0x88B5;

/// How a path is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TCP, sleeping in the kernel until something arrives.
    Tcp,
    /// TCP, asking again and again.
    TcpSpin,
    /// UDP, asking again and again.
    Udp,
    /// Frames of an own ethertype, looking at a TPACKET_V2 ring again and again.
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

/// What to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Test {
    /// A message there and back; half of the time.
    PingPong {
        /// How.
        protocol: Protocol,
        /// Message sizes in bytes: 4 to 1 MiB (65507 with UDP).
        bytes: Vec<u32>,
        /// Time per size, seconds.
        seconds: f64,
        /// Batches per size.
        samples: u32,
    },
    /// As much as goes through in one direction, in full frames.
    Throughput {
        /// How (`tcp` and `tcp-spin` are the same here).
        protocol: Protocol,
        /// Time to count, seconds.
        seconds: f64,
        /// Time before that: queues and shapers' saved-up tokens must be past, seconds.
        warm_up_s: f64,
        /// Offered load of UDP and frames in bit/s on the line; `None`: as fast as the processor can. Somewhat
        /// above the line's rate is enough to fill it, and leaves processor time to the receiver where both
        /// share a machine.
        pace_bits_per_second: Option<u64>,
    },
    /// Bursts to a receiver with a buffer, which empties it as fast as it can or is told to, and asks for nothing: how
    /// fast is it, and how much does it lose?
    Drain(DrainTest),
    /// Messages of one length over TCP connections, with what they cost both sides.
    Stream(StreamTest),
}

/// The peer that answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Serve {
    /// Where to wait for the other peer's control connection.
    pub listen: SocketAddr,
    /// Interface for frames; TCP and UDP are bound to it too. `None`: no frames, routing decides.
    pub interface: Option<String>,
    /// Processor to stay on.
    pub cpu: Option<usize>,
    /// Gives up when the other peer has not come, or said nothing, for so long; seconds.
    pub patience_s: f64,
}

/// The peer that measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Where the other peer listens. Tried again and again until `connect_s` has passed.
    pub server: SocketAddr,
    /// The other peer's address on the path to measure.
    pub data: Ipv4Addr,
    /// Interface for frames; TCP and UDP are bound to it too. `None`: no frames, routing decides.
    pub interface: Option<String>,
    /// Processor to stay on.
    pub cpu: Option<usize>,
    /// Line rate in bit/s, to state throughput as a share of it.
    pub line_bits_per_second: Option<u64>,
    /// Longest wait for the other peer, seconds.
    pub connect_s: f64,
    /// The tests, in this order.
    pub tests: Vec<Test>,
}

/// Either peer, as text: `{"role": "serve", ...}` or `{"role": "measure", ...}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum Peer {
    /// Answers.
    Serve(Serve),
    /// Measures.
    Measure(Measure),
}

/// Half round trips of one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PingPong {
    /// How.
    pub protocol: Protocol,
    /// Message size in bytes.
    pub bytes: u32,
    /// Seconds of half a round trip, one value per batch.
    pub samples: Vec<f64>,
    /// Messages that had to be sent again, because nothing had come back for 20 ms.
    pub resent: u64,
    /// Processor seconds of both peers during the samples.
    pub cpu_s: f64,
    /// Payload bytes moved during the samples.
    pub moved_bytes: u64,
}

/// What went through in one direction. Figures count from the first to the last arrival after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// How.
    pub protocol: Protocol,
    /// Payload bytes received.
    pub payload_bytes: u64,
    /// Frames received (TCP: as many full segments as the payload fills).
    pub frames: u64,
    /// Bits that those frames took on the line, everything included: 8 * (max(60, length) + 4 + 8 + 12).
    pub wire_bits: u64,
    /// From the first to the last of them, seconds.
    pub seconds: f64,
    /// Share of the line's rate that those bits are, if the rate is known.
    pub line_fraction: Option<f64>,
    /// Begin and end of the counting, seconds since 1970: to see whether several pairs overlapped.
    pub window_unix_s: (f64, f64),
    /// Frames sent in all, warm-up included (TCP: 0).
    pub sent_frames: u64,
    /// Frames received in all, warm-up included (TCP: 0).
    pub received_frames: u64,
    /// Of those sent, dropped at the receiver for want of room in its ring.
    pub ring_drops: u64,
    /// Processor seconds of both peers, warm-up included.
    pub cpu_s: f64,
    /// Payload bytes received, warm-up included.
    pub moved_bytes: u64,
}

impl Throughput {
    /// Payload bytes per second; 0 if nothing arrived.
    pub fn payload_bytes_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.payload_bytes as f64 / self.seconds } else { 0.0 }
    }

    /// Bits per second on the line; 0 if nothing arrived.
    pub fn wire_bits_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.wire_bits as f64 / self.seconds } else { 0.0 }
    }
}

/// A test that could not be made. The others were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// How.
    pub protocol: Protocol,
    /// `ping-pong, 64 bytes` or `throughput`.
    pub test: String,
    /// Why.
    pub reason: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.protocol, self.test, self.reason)
    }
}

/// All results of one [`measure`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Latencies.
    pub ping_pongs: Vec<PingPong>,
    /// Throughputs.
    pub throughputs: Vec<Throughput>,
    /// Bursts.
    #[serde(default)]
    pub drains: Vec<Drain>,
    /// Streams of messages.
    #[serde(default)]
    pub streams: Vec<Streamed>,
    /// What failed.
    pub failures: Vec<Failure>,
}

/// Why two peers cannot measure.
#[derive(Debug, Error)]
pub enum RawError {
    /// Not the JSON text of a [`Peer`].
    #[error("raw peer: {0}")]
    Specification(serde_json::Error),
    /// A number of the specification that makes no sense.
    #[error("raw peer: {0}")]
    Value(String),
    /// The control connection.
    #[error("raw peer: control connection with {address}: {doing}: {source}")]
    Control {
        /// The other side, or the own listening address.
        address: SocketAddr,
        /// What was being done.
        doing: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The other peer cannot make this test.
    #[error("the other peer: {0}")]
    Refused(String),
    /// A data socket.
    #[error("{protocol}: {doing}: {source}")]
    Socket {
        /// How.
        protocol: Protocol,
        /// What was being done.
        doing: &'static str,
        /// The error.
        source: io::Error,
    },
    /// A packet socket.
    #[error(transparent)]
    Packet(#[from] PacketError),
    /// Frames are to be sent, but on which interface was not said.
    #[error("packet-ring needs an interface")]
    NoInterface,
    /// Nothing comes back.
    #[error("{protocol}: no answer to {tries} messages of {bytes} bytes in a row: is the path cut?")]
    Silent {
        /// How.
        protocol: Protocol,
        /// Message size.
        bytes: u32,
        /// How often it was tried.
        tries: u32,
    },
    /// Something else comes back than was sent.
    #[error("{protocol}: a message of {bytes} bytes came back changed at byte {at}")]
    Damaged {
        /// How.
        protocol: Protocol,
        /// Message size.
        bytes: u32,
        /// First byte that differs.
        at: usize,
    },
}

/// Runs the peer that a JSON text describes ([`Peer`]) and returns its results as JSON: an [`Outcome`] of the one
/// that measures, `{}` of the other.
pub fn peer(specification: &str) -> Result<String, RawError> {
    match serde_json::from_str(specification).map_err(RawError::Specification)? {
        Peer::Serve(options) => serve(&options).map(|()| "{}".into()),
        Peer::Measure(options) => {
            let outcome = measure(&options)?;
            serde_json::to_string(&outcome).map_err(RawError::Specification)
        }
    }
}
