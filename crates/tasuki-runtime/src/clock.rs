//! The clock of the host that keeps the queue, as another host knows it: an estimate of how much it is ahead
//! of the host's own monotonic clock.
//!
//! A question goes there and an answer comes back; the answer was given some time between. So the middle is
//! wrong by half of the round trip at most, and by how much the clocks drift apart afterwards. Of the last
//! answers the one with the smallest such error counts (as in NTP, RFC 5905, appendix A.5.5.2).

use std::collections::VecDeque;

/// Answers that are kept.
const SAMPLES: usize = 16;
/// How fast two clocks drift apart at most, parts per million. The crystals of PCs are within 100.
const DRIFT_PPM: u64 = 100;

/// An answer.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// How much the other clock is ahead, ns.
    ahead: i64,
    /// Half of the round trip, ns.
    half: u64,
    /// When the answer came, ns.
    got: u64,
}

impl Sample {
    /// By how much the estimate can be wrong at a time, ns.
    fn error(&self, now: u64) -> u64 {
        self.half + now.saturating_sub(self.got) / (1_000_000 / DRIFT_PPM)
    }
}

/// What is known of the other clock.
#[derive(Debug, Default)]
pub(crate) struct Offset {
    samples: VecDeque<Sample>,
}

impl Offset {
    /// An answer: asked and got at these times of the own clock, given at this time of the other one, ns.
    pub fn sample(&mut self, asked: u64, at: u64, got: u64) {
        let half = got.saturating_sub(asked) / 2;
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(Sample { ahead: at.wrapping_sub(asked + half).cast_signed(), half, got });
    }

    /// Number of answers that are known.
    pub fn samples(&self) -> usize {
        self.samples.len()
    }

    fn best(&self, now: u64) -> Option<&Sample> {
        self.samples.iter().min_by_key(|sample| sample.error(now))
    }

    /// How much the other clock is ahead, ns; 0 as long as nothing is known.
    pub fn ahead(&self, now: u64) -> i64 {
        self.best(now).map_or(0, |sample| sample.ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_random::Random;
    use tasuki_testkit::replay::Replay;

    /// Delays as on a busy network, another delay each way, and a clock that runs faster or slower: the
    /// estimate is never wrong by more than it can be, and close as soon as one question went fast.
    #[test]
    fn the_estimate_is_close_whatever_delays_there_are() {
        let command = "cargo test --release -p tasuki-runtime --lib clock";
        Replay { variable: "TASUKI_SEED", command }.each(300, |seed| {
            let mut random = Random::new(seed);
            let start = random.below(1 << 50);
            let ppm = random.below(2 * DRIFT_PPM + 1) as i64 - DRIFT_PPM as i64;
            let other = |own: u64| start + own + (own as i64 * ppm / 1_000_000) as u64;
            let mut offset = Offset::default();
            let (mut now, mut fast) = (5_000_000_000u64, 0);
            for _ in 0..200 {
                let mut delay = || match random.below(4) {
                    0 => 30_000 + random.below(20_000),
                    1 | 2 => 50_000 + random.below(1_000_000),
                    _ => random.below(40_000_000),
                };
                let (there, back) = (delay(), delay());
                let asked = now;
                now += there + back;
                offset.sample(asked, other(asked + there), now);
                fast = if there + back < 100_000 { now } else { fast };
                now += 250_000_000;
                let wrong =
                    (start as i64 + (now as i64 * ppm / 1_000_000) - offset.ahead(now)).unsigned_abs();
                let best = offset.best(now).expect("a sample").error(now);
                assert!(wrong <= best + 2, "wrong by {wrong} ns of {best}");
                let since = now - fast;
                if fast > 0 && since < 2_000_000_000 {
                    assert!(wrong <= 50_000 + since / 10_000 + 2, "wrong by {wrong} ns, {since} ns after");
                }
            }
        });
    }

    #[test]
    fn clocks_may_be_anywhere() {
        let mut offset = Offset::default();
        assert_eq!(offset.ahead(7), 0);
        offset.sample(u64::MAX / 2, 3, u64::MAX / 2 + 10);
        assert_eq!(offset.ahead(u64::MAX / 2 + 10), 3 - (u64::MAX / 2 + 5) as i64);
    }
}
