//! The receive-interrupt delay of NICs, as a user can ask for it.

use serde::{Deserialize, Serialize, Serializer};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// Longest delay that can be asked for, microseconds. TCP sends again after 200 ms at the earliest.
const LONGEST_US: u32 = 100_000;

/// How long a NIC holds received frames back before it interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delay {
    /// No delay: every frame interrupts, as fast as the processor handles them.
    Off,
    /// Microseconds between two interrupts, at least 1.
    Fixed(u32),
    /// The driver chooses the delay by itself.
    Adaptive,
}

/// A delay that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no interrupt delay: say off, adaptive, or a time up to 100 ms, as 50us or 1ms")]
pub struct ParseDelayError(String);

impl Delay {
    /// A delay of this many microseconds; 0: off.
    pub fn from_us(us: u32) -> Self {
        if us == 0 { Delay::Off } else { Delay::Fixed(us) }
    }
}

impl FromStr for Delay {
    type Err = ParseDelayError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || ParseDelayError(text.into());
        match text {
            "off" | "0" => return Ok(Delay::Off),
            "adaptive" => return Ok(Delay::Adaptive),
            _ => {}
        }
        let (digits, factor) = match text.strip_suffix("ms") {
            Some(digits) => (digits, 1000),
            None => (text.strip_suffix("us").unwrap_or(text), 1),
        };
        let number: u32 = digits.trim().parse().map_err(|_| fail())?;
        match number.checked_mul(factor) {
            Some(us) if us <= LONGEST_US => Ok(Delay::from_us(us)),
            _ => Err(fail()),
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::Off => write!(f, "off"),
            Delay::Fixed(us) => write!(f, "{us}us"),
            Delay::Adaptive => write!(f, "adaptive"),
        }
    }
}

/// What a cluster file asks for as the delay of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayWish {
    /// This delay, always.
    Set(Delay),
    /// A delay that follows the load.
    Dynamic,
}

impl FromStr for DelayWish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "dynamic" => Ok(Self::Dynamic),
            _ => text.parse().map(Self::Set).map_err(|error: ParseDelayError| format!("{error}; or dynamic")),
        }
    }
}

impl fmt::Display for DelayWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(delay) => delay.fmt(f),
            Self::Dynamic => f.write_str("dynamic"),
        }
    }
}

impl Serialize for DelayWish {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A bound of a delay that follows the load, microseconds; 0: off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelayBound(pub(crate) u32);

impl FromStr for DelayBound {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(Delay::Off) => Ok(Self(0)),
            Ok(Delay::Fixed(us)) => Ok(Self(us)),
            _ => Err(format!("{text:?} is neither off nor a time up to 100 ms, as 50us or 1ms")),
        }
    }
}

/// The table `[tune]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Tuning {
    /// The delay of NICs that have none of their own and whose host has none; `None`: it is not changed.
    pub delay: Option<DelayWish>,
    /// The shortest delay that follows the load, microseconds; 0: off.
    pub least_us: u32,
    /// The longest delay that follows the load, microseconds.
    pub most_us: u32,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { delay: None, least_us: 0, most_us: crate::DEFAULT_MOST_DELAY_US }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_read_as_they_are_written() {
        for (text, delay) in [
            ("off", Delay::Off),
            ("0", Delay::Off),
            ("0ms", Delay::Off),
            ("50us", Delay::Fixed(50)),
            ("50", Delay::Fixed(50)),
            ("2ms", Delay::Fixed(2000)),
            ("100ms", Delay::Fixed(100_000)),
            ("adaptive", Delay::Adaptive),
        ] {
            assert_eq!(text.parse(), Ok(delay));
            assert_eq!(delay.to_string().parse(), Ok(delay));
            assert_eq!(text.parse(), Ok(DelayWish::Set(delay)));
        }
        for bad in ["", "us", "-1", "1s", "101ms", "99999999ms", "on", "1.5us", "dynamic"] {
            assert!(bad.parse::<Delay>().is_err(), "{bad}");
        }
        assert_eq!("dynamic".parse(), Ok(DelayWish::Dynamic));
        assert!("Dynamic".parse::<DelayWish>().unwrap_err().contains("or dynamic"));
    }
}
