//! One TCP stream over several NICs, by Tasuki's striping and by its rivals: what is compared ([`Way`]), where ([`Cabling`]), and what came of
//! it ([`StripeReport`]), beside what the NIC distribution paper published.

mod published;
mod report;

pub use published::{Published, published};
pub use report::{Case, FailedCase, StripeRecord, StripeReport, Use};

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// What is between two hosts with several NICs each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cabling {
    /// A cable for each pair of NICs.
    Cables,
    /// One switch for all NICs.
    Switch,
    /// One switch per NIC index, without links between the switches (the paper's figure 7).
    Switches,
}

/// How one stream is spread over NICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Not at all: one NIC.
    One,
    /// Tasuki: the NIC on which a packet will be gone first.
    ShortestDelay,
    /// Tasuki: one NIC after the other, each to its partner. The paper's scheme.
    RoundRobin,
    /// Tasuki: to each NIC its part of the bytes.
    ByteWeighted,
    /// Tasuki: all packets of a connection on one NIC.
    FlowHash,
    /// Bonding as the paper's section 2.2 describes it: one NIC after the other, all frames to the address of one NIC.
    BondFixed,
    /// Bonding as the kernel's balance-rr does it, and as the cross-connection paper says: all NICs of a host have one address.
    BondOneMac,
    /// The kernel's Multipath TCP, which a program must ask for.
    Mptcp,
}

/// A name that is neither.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no {kind} '{name}': {choices}")]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    choices: String,
}

/// The value of that name.
fn named<T: Copy + fmt::Display>(kind: &'static str, all: &[T], name: &str) -> Result<T, UnknownName> {
    let found = all.iter().find(|known| known.to_string() == name).copied();
    found.ok_or_else(|| {
        let choices = all.iter().map(T::to_string).collect::<Vec<_>>().join(", ");
        UnknownName { kind, name: name.into(), choices }
    })
}

impl Cabling {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cables, Self::Switch, Self::Switches];
}

impl fmt::Display for Cabling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cables => "cables",
            Self::Switch => "switch",
            Self::Switches => "switches",
        })
    }
}

impl FromStr for Cabling {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named("network", &Self::ALL, name)
    }
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::One,
        Self::ShortestDelay,
        Self::RoundRobin,
        Self::ByteWeighted,
        Self::FlowHash,
        Self::BondFixed,
        Self::BondOneMac,
        Self::Mptcp,
    ];

    /// Whether it is Tasuki's.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::ShortestDelay | Self::RoundRobin | Self::ByteWeighted | Self::FlowHash)
    }

    /// Whether it can work there: with a cable for each NIC, or a switch for each, frames to the address of another NIC reach nobody.
    pub fn works_over(self, cabling: Cabling) -> bool {
        self != Self::BondFixed || cabling == Cabling::Switch
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::One => "one",
            Self::ShortestDelay => "shortest-delay",
            Self::RoundRobin => "round-robin",
            Self::ByteWeighted => "byte-weighted",
            Self::FlowHash => "flow-hash",
            Self::BondFixed => "bond-fixed",
            Self::BondOneMac => "bond-one-mac",
            Self::Mptcp => "mptcp",
        })
    }
}

impl FromStr for Way {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        named("way", &Self::ALL, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for way in Way::ALL {
            assert_eq!(way.to_string().parse(), Ok(way));
        }
        for cabling in Cabling::ALL {
            assert_eq!(cabling.to_string().parse(), Ok(cabling));
        }
        let said = "bonding".parse::<Way>().map_err(|error| error.to_string());
        assert!(said.is_err_and(|said| said.contains("'bonding'") && said.contains("bond-one-mac")));
    }
}
