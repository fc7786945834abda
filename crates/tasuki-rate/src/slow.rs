//! How a receiver is slow.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// How fast a receiver takes what has come, over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "slow", rename_all = "kebab-case")]
pub enum Slow {
    /// It takes what has come as fast as it can.
    #[default]
    No,
    /// It takes it at one rate, as a slower machine does.
    Steady {
        /// Bit/s.
        bps: u64,
    },
    /// It takes it at full speed in the first part of each period and not at all in the rest, as a process
    /// does that shares its processor or has a quota.
    Quota {
        /// Length of the first part, 1 to 99 per cent of the period.
        percent: u8,
        /// Length of a period, ns.
        period_ns: u64,
    },
    /// It takes it at two rates in turn, half a period each, as under a load that comes and goes.
    Varying {
        /// Rate in the first half, bit/s.
        high_bps: u64,
        /// Rate in the second half, bit/s.
        low_bps: u64,
        /// Length of a period, ns.
        period_ns: u64,
    },
}

impl Slow {
    /// What a receiver that does at most `full_bps` drains between two times, in bits times 10^9: a rate of 1
    /// bit/s drains 1 of these in a ns.
    pub fn drained(&self, from_ns: u64, to_ns: u64, full_bps: u64) -> u128 {
        self.total(to_ns, full_bps).saturating_sub(self.total(from_ns, full_bps))
    }

    /// When a receiver that begins at `from_ns` has drained so many bytes, ns; `u64::MAX` if never.
    pub fn done_at(&self, from_ns: u64, bytes: u64, full_bps: u64) -> u64 {
        let wanted = self.total(from_ns, full_bps) + u128::from(bytes) * 8_000_000_000;
        let mut step = 1u64;
        // First a time that is late enough is found, then by halving the first such time: what is drained
        // never becomes less.
        let late = loop {
            let at = from_ns.saturating_add(step);
            if self.total(at, full_bps) >= wanted {
                break at;
            }
            if at == u64::MAX {
                return u64::MAX;
            }
            step = step.saturating_mul(2);
        };
        let (mut low, mut high) = (from_ns, late);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.total(middle, full_bps) >= wanted { high = middle } else { low = middle + 1 }
        }
        low
    }

    /// The mean rate over long times, bit/s.
    pub fn mean_bps(&self, full_bps: u64) -> f64 {
        let full = full_bps as f64;
        match *self {
            Self::No => full,
            Self::Steady { bps } => (bps as f64).min(full),
            Self::Quota { percent, .. } => full * f64::from(percent) / 100.0,
            Self::Varying { high_bps, low_bps, .. } => {
                ((high_bps as f64).min(full) + (low_bps as f64).min(full)) / 2.0
            }
        }
    }

    /// What is drained from time 0 on, in bits times 10^9.
    fn total(&self, to_ns: u64, full_bps: u64) -> u128 {
        let (to, full) = (u128::from(to_ns), u128::from(full_bps));
        let in_turn = |period_ns: u64, first_ns: u128, rates: [u128; 2]| {
            let period = u128::from(period_ns.max(1));
            let (whole, rest) = (to / period, to % period);
            let first = rest.min(first_ns);
            whole * (first_ns * rates[0] + (period - first_ns) * rates[1])
                + first * rates[0]
                + (rest - first) * rates[1]
        };
        match *self {
            Self::No => to * full,
            Self::Steady { bps } => to * full.min(bps.into()),
            Self::Quota { percent, period_ns } => {
                in_turn(period_ns, u128::from(period_ns) * u128::from(percent.min(100)) / 100, [full, 0])
            }
            Self::Varying { high_bps, low_bps, period_ns } => {
                let rates = [full.min(high_bps.into()), full.min(low_bps.into())];
                in_turn(period_ns, u128::from(period_ns / 2), rates)
            }
        }
    }
}

/// The text does not say how a receiver is slow.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no way to be slow: none, steady:52M, quota:50%/10ms or varying:20M-80M/10ms")]
pub struct ParseSlowError(String);

impl FromStr for Slow {
    type Err = ParseSlowError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| ParseSlowError(text.into()))
    }
}

fn parse(text: &str) -> Option<Slow> {
    if text == "none" {
        return Some(Slow::No);
    }
    let (kind, rest) = text.split_once(':')?;
    let timed = || {
        let (value, period) = rest.split_once('/')?;
        Some((value, nanoseconds(period)?))
    };
    match kind {
        "steady" => Some(Slow::Steady { bps: bits(rest)? }),
        "quota" => {
            let (share, period_ns) = timed()?;
            let percent = share.strip_suffix('%')?.parse().ok().filter(|share| (1..100).contains(share))?;
            Some(Slow::Quota { percent, period_ns })
        }
        "varying" => {
            let (rates, period_ns) = timed()?;
            let (low, high) = rates.split_once('-')?;
            let (low_bps, high_bps) = (bits(low)?, bits(high)?);
            (low_bps <= high_bps).then_some(Slow::Varying { high_bps, low_bps, period_ns })
        }
        _ => None,
    }
}

/// Reads a rate as `52M`, in bit/s, at least 1.
pub(crate) fn bits(text: &str) -> Option<u64> {
    scaled(text, &[("G", 1e9), ("M", 1e6), ("k", 1e3)])
}

/// Reads a time as `10ms`, in ns, at least 1.
fn nanoseconds(text: &str) -> Option<u64> {
    scaled(text, &[("us", 1e3), ("ms", 1e6), ("s", 1e9)])
}

pub(crate) fn scaled(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let (number, scale) = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)))?;
    let value = number.parse::<f64>().ok().filter(|value| (0.0..1e6).contains(value))? * scale;
    (value >= 1.0).then_some(value as u64)
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mega = |bps: u64| bps as f64 / 1e6;
        let milli = |ns: u64| ns as f64 / 1e6;
        match *self {
            Self::No => f.write_str("none"),
            Self::Steady { bps } => write!(f, "steady:{}M", mega(bps)),
            Self::Quota { percent, period_ns } => write!(f, "quota:{percent}%/{}ms", milli(period_ns)),
            Self::Varying { high_bps, low_bps, period_ns } => {
                write!(f, "varying:{}M-{}M/{}ms", mega(low_bps), mega(high_bps), milli(period_ns))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1000;
    const ALL: [Slow; 4] = [
        Slow::No,
        Slow::Steady { bps: 300 },
        Slow::Quota { percent: 25, period_ns: 400 },
        Slow::Varying { high_bps: 900, low_bps: 100, period_ns: 300 },
    ];

    #[test]
    fn what_drains_is_the_sum_of_every_nanosecond() {
        // The rate in each nanosecond, written out once more.
        let rate =
            |slow: &Slow, at: u64| match *slow {
                Slow::No => FULL,
                Slow::Steady { bps } => bps,
                Slow::Quota { percent, period_ns } => {
                    if at % period_ns < period_ns * u64::from(percent) / 100 { FULL } else { 0 }
                }
                Slow::Varying { high_bps, low_bps, period_ns } => {
                    if at % period_ns < period_ns / 2 {
                        high_bps
                    } else {
                        low_bps
                    }
                }
            };
        for slow in ALL {
            for (from, to) in [(0, 0), (0, 1), (0, 1200), (37, 1111), (399, 401)] {
                let sum: u64 = (from..to).map(|at| rate(&slow, at)).sum();
                assert_eq!(slow.drained(from, to, FULL), u128::from(sum), "{slow} {from} {to}");
            }
        }
    }

    #[test]
    fn done_is_when_the_last_byte_has_drained() {
        for slow in ALL {
            let full = 8_000_000_000;
            for (from, bytes) in [(0, 1), (37, 100), (350, 1), (11, 5000)] {
                let done = slow.done_at(from, bytes, full);
                let wanted = u128::from(bytes) * 8_000_000_000;
                assert!(slow.drained(from, done, full) >= wanted, "{slow}");
                assert!(slow.drained(from, done - 1, full) < wanted, "{slow}");
            }
        }
        let stopped = Slow::Steady { bps: 0 };
        assert_eq!(stopped.done_at(5, 1, FULL), u64::MAX);
    }

    #[test]
    fn texts_are_read_back() {
        for text in ["none", "steady:52M", "quota:50%/10ms", "varying:20M-80M/10ms"] {
            assert_eq!(text.parse::<Slow>().unwrap().to_string(), text);
        }
        assert_eq!("steady:1.5G".parse(), Ok(Slow::Steady { bps: 1_500_000_000 }));
        for text in [
            "",
            "steady",
            "steady:52",
            "steady:-1M",
            "steady:0M",
            "quota:0%/1ms",
            "quota:50%",
            "quota:100%/1ms",
            "varying:80M-20M/1ms",
            "varying:20M/1ms",
            "slow:1M",
            "steady:nanM",
        ] {
            assert!(text.parse::<Slow>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_mean_is_that_of_many_periods() {
        for slow in ALL {
            let long = 1_200_000;
            let mean = slow.drained(0, long, FULL) as f64 / long as f64;
            assert!((slow.mean_bps(FULL) - mean).abs() < 1e-6, "{slow}");
        }
    }
}
