//! Round-trip time of a path, as in RFC 9002 section 5.

use std::time::Duration;

use tasuki_tuning::{loss, rails};

use crate::config::Config;
use crate::time::Time;

/// Estimates of the round trip, ns. `smoothed` is 0 before the first sample.
#[derive(Default)]
pub(crate) struct Rtt {
    pub smoothed: u64,
    pub variation: u64,
    pub latest: u64,
    pub min: u64,
    min_at: Time,
    /// Acknowledgements since the path carried nothing for long, and when the last one came.
    answers: u32,
    answered_at: Time,
    /// The smallest sample since `min_at`. It replaces `min` when that has become too old.
    next_min: u64,
}

impl Rtt {
    /// Takes a sample: a packet was acknowledged `sample` ns after it was sent, and the peer says that
    /// `delay` ns of these it had held the acknowledgement back.
    pub fn sample(&mut self, now: Time, sample: u64, delay: u64) {
        let sample = sample.max(1);
        self.latest = sample;
        if self.smoothed == 0 {
            (self.smoothed, self.variation) = (sample, sample / 2);
            (self.min, self.next_min, self.min_at) = (sample, sample, now);
            return;
        }
        self.next_min = self.next_min.min(sample);
        if sample <= self.min {
            (self.min, self.min_at, self.next_min) = (sample, now, u64::MAX);
        } else if now.since(self.min_at) > loss::MIN_RTT_AGE {
            (self.min, self.min_at, self.next_min) = (self.next_min, now, u64::MAX);
        }
        //= https://www.rfc-editor.org/rfc/rfc9002#section-5.3
        //# adjusted_rtt = latest_rtt
        //# if (latest_rtt >= min_rtt + ack_delay):
        //#   adjusted_rtt = latest_rtt - ack_delay
        let adjusted = if sample >= self.min.saturating_add(delay) { sample - delay } else { sample };
        let off = self.smoothed.abs_diff(adjusted);
        self.variation = (3 * self.variation + off) / 4;
        self.smoothed = (7 * self.smoothed + adjusted) / 8;
        self.latest = adjusted;
    }

    /// Packets that the path carried were acknowledged.
    pub fn answered(&mut self, now: Time) {
        if now.since_ns(self.answered_at) > rails::KNOWN_FOR {
            self.answers = 0;
        }
        (self.answers, self.answered_at) = (self.answers.saturating_add(1), now);
    }

    /// Whether `min` is that of the path: the smallest of many samples, and not of a few that may all have
    /// waited for a busy host.
    pub fn is_known(&self, now: Time) -> bool {
        self.answers >= rails::KNOWN_AFTER && now.since_ns(self.answered_at) <= rails::KNOWN_FOR
    }

    /// The smallest round trip, ns; while that is not known, no more than `least`.
    pub fn min_or(&self, least: Option<u64>, now: Time) -> u64 {
        match least {
            Some(least) if !self.is_known(now) => self.min.min(least),
            _ => self.min,
        }
    }

    /// Probe time-out (PTO) before any doubling, ns: when nothing has been acknowledged for so long, the path
    /// is pinged.
    pub fn pto_ns(&self, config: &Config, peer_delay_ns: u64) -> u64 {
        if self.smoothed == 0 {
            return ns(config.initial_pto);
        }
        let pto = self.smoothed + (4 * self.variation).max(loss::GRANULARITY_NS) + peer_delay_ns;
        pto.clamp(ns(config.min_pto), ns(config.max_pto))
    }

    /// Age, ns: a packet sent this much earlier than an acknowledged packet is lost.
    //= https://www.rfc-editor.org/rfc/rfc9002#section-6.1.2
    //# max(kTimeThreshold * max(smoothed_rtt, latest_rtt), kGranularity)
    pub fn loss_delay_ns(&self) -> u64 {
        let rtt = self.smoothed.max(self.latest);
        (rtt + rtt / 8).max(loss::GRANULARITY_NS)
    }
}

/// A configured duration in nanoseconds; saturates.
pub(crate) fn ns(duration: Duration) -> u64 {
    // Not `Duration::as_nanos`, which computes in 128 bits and is slower.
    duration.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(duration.subsec_nanos()))
}
