//! The results of the measuring peer.

use super::{burst::Drain, protocol::Protocol, streamed::Streamed};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The latency of messages of one size: halves of round trips.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PingPong {
    /// The protocol.
    pub protocol: Protocol,
    /// Message size in bytes.
    pub bytes: u32,
    /// Half of a round trip, seconds; one value per batch.
    pub samples: Vec<f64>,
    /// Number of messages sent again because no answer had come within 20 ms.
    pub resent: u64,
    /// Processor seconds of both peers during the samples.
    pub cpu_s: f64,
    /// Payload bytes moved during the samples.
    pub moved_bytes: u64,
}

/// The throughput in one direction. Figures count from the first to the last arrival after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// The protocol.
    pub protocol: Protocol,
    /// Payload bytes received.
    pub payload_bytes: u64,
    /// Number of frames received (TCP: as many full segments as the payload fills).
    pub frames: u64,
    /// Payload of a full frame, bytes.
    #[serde(default)]
    pub full_payload_bytes: u64,
    /// Bits that these frames took on the line, check sequence, preamble and gap included: 8 * (max(60,
    /// length) + 4 + 8 + 12) each.
    pub wire_bits: u64,
    /// Time from the first to the last of these frames, seconds.
    pub seconds: f64,
    /// Share of the line's rate that these bits make, if the rate is known.
    pub line_fraction: Option<f64>,
    /// Begin and end of the counting, seconds since 1970; they tell whether several pairs were counted at the
    /// same time.
    pub window_unix_s: (f64, f64),
    /// Number of frames sent, warm-up included (TCP: 0).
    pub sent_frames: u64,
    /// Number of frames received, warm-up included (TCP: 0).
    pub received_frames: u64,
    /// Number of frames that the receiver dropped because its ring was full.
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

/// A test that failed. It does not keep others from being made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The protocol.
    pub protocol: Protocol,
    /// The test, for example `ping-pong, 64 bytes` or `throughput`.
    pub test: String,
    /// Why it failed.
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
    /// Results of the ping-pong tests.
    pub ping_pongs: Vec<PingPong>,
    /// Results of the throughput tests.
    pub throughputs: Vec<Throughput>,
    /// Results of the burst tests.
    #[serde(default)]
    pub drains: Vec<Drain>,
    /// Results of the stream tests.
    #[serde(default)]
    pub streams: Vec<Streamed>,
    /// Tests that failed.
    pub failures: Vec<Failure>,
}
