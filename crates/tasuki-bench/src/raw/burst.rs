//! A test with bursts, and its result.

use super::protocol::Protocol;
use serde::{Deserialize, Serialize};
use tasuki_rate::Slow;

/// A test with bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrainTest {
    /// `udp` or `packet-ring`.
    pub protocol: Protocol,
    /// Number of bursts.
    pub bursts: u32,
    /// Payload of one burst, bytes; rounded up to whole packets.
    pub bytes: u64,
    /// S: rate at which payload is sent, bit/s; `None`: as fast as the processor can.
    pub send_bps: Option<u64>,
    /// How the receiver is slowed.
    pub slow: Slow,
    /// The receiver's buffer, bytes. With frames it is payload (a ring has a power of two of frames, so that
    /// B is measured too), with UDP it is SO_RCVBUF.
    pub buffer_bytes: u64,
}

/// The result of one burst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Burst {
    /// Payload sent, bytes.
    pub sent_bytes: u64,
    /// Time at the sender from before the first packet to after the last, seconds.
    pub send_seconds: f64,
    /// Payload taken by the receiver, bytes.
    pub taken_bytes: u64,
    /// Payload of the first packet taken, for which no time is counted, bytes.
    pub first_bytes: u64,
    /// Time at the receiver from the first packet taken to the last, seconds.
    pub take_seconds: f64,
}

impl Burst {
    /// R: rate at which the receiver took payload, bit/s; `None` if it took fewer than two packets.
    pub fn drain_bps(&self) -> Option<f64> {
        let rate = (self.taken_bytes.saturating_sub(self.first_bytes)) as f64 * 8.0 / self.take_seconds;
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    /// S: rate at which payload was sent, bit/s.
    pub fn send_bps(&self) -> f64 {
        self.sent_bytes as f64 * 8.0 / self.send_seconds.max(1e-9)
    }

    /// Payload lost, bytes.
    pub fn lost_bytes(&self) -> u64 {
        self.sent_bytes.saturating_sub(self.taken_bytes)
    }
}

/// The result of a [`DrainTest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drain {
    /// The protocol.
    pub protocol: Protocol,
    /// How the receiver was slowed.
    pub slow: Slow,
    /// Payload of a packet, bytes.
    pub packet_bytes: u64,
    /// B: payload that the buffer holds, measured by a burst of which nothing was taken before its end;
    /// bytes.
    pub buffer_bytes: u64,
    /// The bursts.
    pub bursts: Vec<Burst>,
    /// Processor seconds of both peers.
    pub cpu_s: f64,
}
