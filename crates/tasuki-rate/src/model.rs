//! Equations (1) and (2) of the paper.

use crate::slow::{bits, scaled};
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use tasuki_tuning::fixed_rate;
use thiserror::Error;

/// A receiver, as its senders see it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receiver {
    /// R: what it takes out of its buffer, bit/s.
    pub drain_bps: f64,
    /// B: what its buffer holds, bytes.
    pub buffer_bytes: u64,
}

impl Receiver {
    /// Bytes that find no room of a message of `message` bytes sent at `send_bps`: equation (1) of the paper,
    /// with T = M/S. Never negative: a buffer that is not full loses nothing. A message that comes no faster
    /// than the receiver drains loses nothing either.
    pub fn overflow_bytes(&self, message: u64, send_bps: f64) -> f64 {
        let message = message as f64;
        if send_bps <= 0.0 {
            return 0.0;
        }
        let drained = self.drain_bps.max(0.0) * message / send_bps;
        (message - (self.buffer_bytes as f64 + drained)).max(0.0)
    }

    /// The highest rate at which a message of `message` bytes loses nothing, bit/s: equation (2), S = R/(1 -
    /// B/M). `None`: at any rate, because the buffer holds the whole message.
    pub fn send_rate(&self, message: u64) -> Option<f64> {
        let beyond = message.checked_sub(self.buffer_bytes).filter(|beyond| *beyond > 0)?;
        Some(self.drain_bps * message as f64 / beyond as f64)
    }
}

/// The text is no receiver.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no receiver: R in bit/s and B in bytes, as in 52M/64K")]
pub struct ParseReceiverError(String);

/// The text is `52M/64K`: R in bit/s (k, M, G: powers of 1000), B in bytes (K, M: powers of 1024).
impl FromStr for Receiver {
    type Err = ParseReceiverError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (drain, buffer) = text.split_once('/')?;
            let drain_bps = bits(drain)? as f64;
            let kibi = |shift: u32| f64::from(1u32 << shift);
            let buffer_bytes = scaled(buffer, &[("M", kibi(20)), ("K", kibi(10)), ("", 1.0)])?;
            Some(Self { drain_bps, buffer_bytes })
        };
        parse().ok_or_else(|| ParseReceiverError(text.into()))
    }
}

/// The paper's way to send: the rate follows from the message's length and two numbers that were measured
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Static {
    /// The receiver.
    pub receiver: Receiver,
    /// What the link carries at most, bit/s.
    pub link_bps: f64,
}

impl Static {
    /// The rate for a message of so many bytes, bit/s: equation (2), but no more than the link has (section
    /// 6.1). Messages that fit into the buffer go at the link's rate.
    pub fn rate_bps(&self, message: u64) -> f64 {
        self.receiver.send_rate(message).map_or(self.link_bps, |rate| rate.min(self.link_bps))
    }

    /// How fast a transport sends `message` bytes of payload, of whose packets a share `payload_share`, 0 to
    /// 1, is payload: R, B and the link count whole packets. `None`: at any rate, because the buffer holds
    /// the whole message.
    pub fn paced(&self, message: u64, payload_share: f64) -> Option<Paced> {
        let packets = (message as f64 / payload_share) as u64;
        let rate = self.receiver.send_rate(packets)?.min(self.link_bps);
        let buffer_bytes = self.receiver.buffer_bytes;
        Some(Paced {
            payload_bps: (rate * payload_share).max(1.0) as u64,
            slack_bytes: buffer_bytes / fixed_rate::CATCH_UP,
        })
    }
}

/// The rate of one message, as its sender needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paced {
    /// Rate of the payload, bit/s.
    pub payload_bps: u64,
    /// Bytes that may leave at once after the sender was held up.
    pub slack_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SS5: Receiver = Receiver { drain_bps: 52e6, buffer_bytes: 65_536 };

    #[test]
    fn at_the_rate_of_equation_2_equation_1_is_nothing() {
        for message in [65_537, 100_000, 500_000, 5_000_000, 1 << 40] {
            let rate = SS5.send_rate(message).unwrap();
            assert!(SS5.overflow_bytes(message, rate) < 1e-6 * message as f64);
            let lost = SS5.overflow_bytes(message, rate * 1.01);
            // At a hundredth more the receiver has a hundredth less time, and drains that much less.
            let less = (message - SS5.buffer_bytes) as f64 * (1.0 - 1.0 / 1.01);
            assert!((lost - less).abs() < 1e-6 * message as f64, "{message}: {lost} {less}");
        }
    }

    #[test]
    fn what_fits_the_buffer_goes_at_any_rate() {
        assert_eq!((SS5.send_rate(0), SS5.send_rate(65_536)), (None, None));
        assert_eq!(SS5.overflow_bytes(65_536, f64::INFINITY), 0.0);
        assert_eq!(SS5.overflow_bytes(65_636, f64::INFINITY), 100.0);
        let way = Static { receiver: SS5, link_bps: 135.63e6 };
        assert_eq!((way.rate_bps(1), way.rate_bps(65_537)), (135.63e6, 135.63e6));
    }

    /// A buffer that is seven eighths full takes what a sender that was late sends at once.
    #[test]
    fn who_was_late_overflows_no_buffer() {
        let way = Static { receiver: SS5, link_bps: 135.63e6 };
        let paced = way.paced(5_000_000, 1.0).expect("a rate");
        assert!((1..=8_192).contains(&paced.slack_bytes), "{paced:?}");
    }

    #[test]
    fn receivers_are_read() {
        assert_eq!("52M/64K".parse(), Ok(SS5));
        let other = Receiver { drain_bps: 1.5e9, buffer_bytes: 4 << 20 };
        assert_eq!("1.5G/4M".parse(), Ok(other));
        assert_eq!("100k/1".parse::<Receiver>().unwrap().buffer_bytes, 1);
        for wrong in ["", "52M", "52M/", "/64K", "52/64K", "0M/64K", "-1M/64K", "52M/64Q", "52M/0"] {
            assert!(wrong.parse::<Receiver>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn nonsense_gives_no_nonsense() {
        let stopped = Receiver { drain_bps: 0.0, buffer_bytes: 10 };
        assert_eq!((stopped.overflow_bytes(30, 1e9), stopped.send_rate(30)), (20.0, Some(0.0)));
        assert_eq!(stopped.overflow_bytes(30, 0.0), 0.0, "nothing is sent");
    }
}
