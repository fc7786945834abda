//! The lengths of NICs' queues.

use crate::{HostError, Key, RingsValue, Value, Wanted, kernel::Kernel};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Shortest length that can be asked for, frames.
const LENGTH_MIN: u32 = 64;
/// Longest length that can be asked for, frames.
const LENGTH_MAX: u32 = 65_536;

/// The wanted length of NICs' receive and send queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RingLength {
    /// As many frames as each NIC can hold.
    Max,
    /// This many frames, or as many as the NIC can hold if that is less. A power of two, because other
    /// numbers are rounded by some drivers and refused by others.
    Frames(u32),
}

impl RingLength {
    fn of(self, most: u32) -> u32 {
        match self {
            Self::Max => most,
            Self::Frames(frames) => frames.min(most),
        }
    }
}

impl FromStr for RingLength {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            _ if text == "max" => Ok(Self::Max),
            Ok(frames) if (LENGTH_MIN..=LENGTH_MAX).contains(&frames) && frames.is_power_of_two() => {
                Ok(Self::Frames(frames))
            }
            _ => Err(format!(
                "{text:?} is no length of a queue: say max, or a power of two from {LENGTH_MIN} to \
                 {LENGTH_MAX}"
            )),
        }
    }
}

impl fmt::Display for RingLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::Frames(frames) => frames.fmt(f),
        }
    }
}

/// The wanted lengths for cabled NICs, with a note on each NIC that has none to set.
pub(crate) fn of_rings(
    kernel: &Kernel,
    wanted: &Wanted,
    notes: &mut Vec<String>,
) -> Result<Vec<(Key, Value)>, HostError> {
    let Some(length) = wanted.nics.rings else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for (interface, _) in wanted.plan.cabled() {
        match rings_of(kernel, interface, length)? {
            Some(rings) => all.push(rings),
            None => notes.push(format!("{interface}: its driver has no queue lengths to set")),
        }
    }
    Ok(all)
}

/// The wanted lengths for one NIC; `None`: it has none to set.
pub(crate) fn rings_of(
    kernel: &Kernel,
    interface: &str,
    length: RingLength,
) -> Result<Option<(Key, Value)>, HostError> {
    let rings = kernel.rings(interface)?.map(|rings| {
        let value = RingsValue { rx: length.of(rings.rx_max), tx: length.of(rings.tx_max) };
        (Key::Rings { interface: interface.into() }, Value::Rings(value))
    });
    Ok(rings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_they_are_written() {
        for (text, length) in
            [("max", RingLength::Max), ("64", RingLength::Frames(64)), ("4096", RingLength::Frames(4096))]
        {
            assert_eq!(text.parse(), Ok(length));
            assert_eq!(length.to_string(), text);
        }
        for bad in ["", "0", "32", "1000", "131072", "-1", "Max", "4096x"] {
            assert!(bad.parse::<RingLength>().is_err(), "{bad}");
        }
        assert_eq!([256, 4096].map(|most| RingLength::Frames(1024).of(most)), [256, 1024]);
        assert_eq!(RingLength::Max.of(511), 511);
    }
}
