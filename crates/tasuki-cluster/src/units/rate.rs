//! Link rates.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// Bytes that Ethernet adds to a frame's payload on the wire: preamble, header, frame check sequence and gap.
pub const AROUND_FRAME: u32 = 38;

/// A link rate in bit/s: the line rate of Ethernet, which includes preamble, frame check sequence and
/// inter-frame gap. Text form: `100M`, `2.5G`, `1G`; a plain integer is bit/s. It is displayed in its
/// shortest exact form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    /// Bits per second.
    pub bits_per_second: u64,
}

/// Why a text is not a rate.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RateError {
    /// The text is neither a number nor a number with a unit.
    #[error("{0:?} is not a rate; write it as 100M, 2.5G or 1G (bit/s with k, M, G or T)")]
    Syntax(String),
    /// The number has more decimals than its unit has bits.
    #[error("{0:?} is not a whole number of bit/s")]
    Fraction(String),
    /// The rate is larger than 64 bits can hold.
    #[error("{0:?} is too large a rate")]
    TooLarge(String),
    /// The rate is zero.
    #[error("a rate of 0 carries nothing; write the rate of the link, as 1G")]
    Zero,
}

/// The units, largest first; they are decimal, as Ethernet counts.
const UNITS: [(char, u64); 4] =
    [('T', 1_000_000_000_000), ('G', 1_000_000_000), ('M', 1_000_000), ('k', 1_000)];

impl Rate {
    /// The rate of this many bits per second.
    pub const fn from_bits_per_second(bits_per_second: u64) -> Self {
        Self { bits_per_second }
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let syntax = || RateError::Syntax(text.into());
        let (number, unit) = match text.chars().last().ok_or_else(syntax)? {
            'K' => (&text[..text.len() - 1], 1_000),
            last => match UNITS.iter().find(|(letter, _)| *letter == last) {
                Some(&(_, unit)) => (&text[..text.len() - 1], unit),
                None => (text, 1),
            },
        };
        let (whole, decimals) = match number.split_once('.') {
            Some((_, "")) => return Err(syntax()),
            Some(parts) => parts,
            None => (number, ""),
        };
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(decimals) {
            return Err(syntax());
        }
        let bits_per_second = scale(text, whole, decimals.trim_end_matches('0'), unit)?;
        if bits_per_second == 0 { Err(RateError::Zero) } else { Ok(Self { bits_per_second }) }
    }
}

/// `whole.decimals` times `unit`, exactly.
fn scale(text: &str, whole: &str, decimals: &str, unit: u64) -> Result<u64, RateError> {
    let too_large = || RateError::TooLarge(text.into());
    // The largest unit is 10^12, so there can be at most 12 decimals.
    let places = u32::try_from(decimals.len()).ok().filter(|places| *places <= 12);
    let divisor = places.map(|places| 10_u64.pow(places)).filter(|divisor| unit.is_multiple_of(*divisor));
    let divisor = divisor.ok_or_else(|| RateError::Fraction(text.into()))?;
    let whole: u64 = whole.parse().map_err(|_| too_large())?;
    let decimals: u64 = if decimals.is_empty() { 0 } else { decimals.parse().map_err(|_| too_large())? };
    let fraction = decimals * (unit / divisor);
    whole.checked_mul(unit).and_then(|bits| bits.checked_add(fraction)).ok_or_else(too_large)
}

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.bits_per_second;
        let with_unit = UNITS.iter().filter(|(_, unit)| bits >= *unit).map(|(letter, unit)| {
            let width = unit.ilog10() as usize;
            let decimals = format!("{:0width$}", bits % unit);
            match decimals.trim_end_matches('0') {
                "" => format!("{}{letter}", bits / unit),
                decimals => format!("{}.{decimals}{letter}", bits / unit),
            }
        });
        // Of several shortest forms the first is used: 1G rather than 1000M.
        let shortest = with_unit.chain([bits.to_string()]).min_by_key(String::len);
        formatter.pad(&shortest.unwrap_or_default())
    }
}

impl TryFrom<String> for Rate {
    type Error = RateError;

    fn try_from(text: String) -> Result<Self, RateError> {
        text.parse()
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> String {
        rate.to_string()
    }
}
