//! Equations (1) and (2).

use serde::{Deserialize, Serialize};

/// A receiver, as its senders see it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receiver {
    /// R: what it takes out of its buffer, bit/s.
    pub drain_bps: f64,
    /// B: what its buffer holds, bytes.
    pub buffer_bytes: u64,
}

impl Receiver {
    /// Bytes that find no room of a message of `message` bytes sent at `send_bps`: equation (1) of the paper, with
    /// T = M/S. Never negative: a buffer that is not full loses nothing. A message that comes no faster than the receiver
    /// drains loses nothing either.
    pub fn overflow_bytes(&self, message: u64, send_bps: f64) -> f64 {
        let message = message as f64;
        if send_bps <= 0.0 {
            return 0.0;
        }
        let drained = self.drain_bps.max(0.0) * message / send_bps;
        (message - (self.buffer_bytes as f64 + drained)).max(0.0)
    }

    /// The highest rate at which a message of `message` bytes loses nothing, bit/s: equation (2), S = R/(1 - B/M). `None`: at any
    /// rate, because the buffer holds the whole message.
    pub fn send_rate(&self, message: u64) -> Option<f64> {
        let beyond = message.checked_sub(self.buffer_bytes).filter(|beyond| *beyond > 0)?;
        Some(self.drain_bps * message as f64 / beyond as f64)
    }
}

/// The paper's way to send: the rate follows from the message's length and two numbers that were measured before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Static {
    /// The receiver.
    pub receiver: Receiver,
    /// What the link carries at most, bit/s.
    pub link_bps: f64,
}

impl Static {
    /// The rate for a message of so many bytes, bit/s: equation (2), but no more than the link has (section 6.1). Messages that fit into
    /// the buffer go at the link's rate.
    pub fn rate_bps(&self, message: u64) -> f64 {
        self.receiver.send_rate(message).map_or(self.link_bps, |rate| rate.min(self.link_bps))
    }
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
            // A hundredth faster: the receiver has a hundredth less time, and drains that much less.
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

    #[test]
    fn nonsense_gives_no_nonsense() {
        let stopped = Receiver { drain_bps: 0.0, buffer_bytes: 10 };
        assert_eq!((stopped.overflow_bytes(30, 1e9), stopped.send_rate(30)), (20.0, Some(0.0)));
        assert_eq!(stopped.overflow_bytes(30, 0.0), 0.0, "nothing is sent");
    }
}
