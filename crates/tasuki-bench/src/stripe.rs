//! One TCP stream over several NICs, by Tasuki's striping and by other means: what is compared
//! ([`Spreading`]), on which cabling ([`Cabling`]), and the results ([`StripeReport`]), beside those that the
//! NIC distribution paper published.

mod published;
mod report;

pub use published::{Published, published};
pub use report::{Case, FailedCase, StripeRecord, StripeReport, Use};

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// How two hosts with several NICs each are connected.
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

/// How one stream is spread over the NICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spreading {
    /// It is not spread: one NIC carries all.
    One,
    /// Tasuki: each packet takes the NIC that will have sent it first.
    ShortestDelay,
    /// Tasuki: one NIC after the other, each to its partner, which is the paper's scheme.
    RoundRobin,
    /// Tasuki: each NIC gets its share of the bytes.
    ByteWeighted,
    /// Tasuki: all packets of a connection take one NIC.
    FlowHash,
    /// Bonding as the paper's section 2.2 describes it: one NIC after the other, all frames to the address of
    /// one NIC.
    BondFixed,
    /// Bonding as the kernel's balance-rr does it and the cross-connection paper describes it: all NICs of a
    /// host have one address.
    BondOneMac,
    /// The kernel's Multipath TCP, which a program must ask for.
    Mptcp,
}

/// A name of no cabling, or of no spreading.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no {kind} '{name}': {choices}")]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    choices: String,
}

/// The value with a given name.
fn named<T: Copy + fmt::Display>(kind: &'static str, all: &[T], name: &str) -> Result<T, UnknownName> {
    let found = all.iter().find(|known| known.to_string() == name).copied();
    found.ok_or_else(|| {
        let choices = all.iter().map(T::to_string).collect::<Vec<_>>().join(", ");
        UnknownName { kind, name: name.into(), choices }
    })
}

impl Cabling {
    /// All cablings.
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

impl Spreading {
    /// All spreadings.
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

    /// Whether it is one of Tasuki's policies.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::ShortestDelay | Self::RoundRobin | Self::ByteWeighted | Self::FlowHash)
    }

    /// Whether it works on a cabling. Frames to the address of another NIC need one switch for all NICs: over
    /// a cable or a switch for each NIC they would reach no host.
    pub fn works_over(self, cabling: Cabling) -> bool {
        self != Self::BondFixed || cabling == Cabling::Switch
    }
}

impl fmt::Display for Spreading {
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

impl FromStr for Spreading {
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
        for spreading in Spreading::ALL {
            assert_eq!(spreading.to_string().parse(), Ok(spreading));
        }
        for cabling in Cabling::ALL {
            assert_eq!(cabling.to_string().parse(), Ok(cabling));
        }
        let said = "bonding".parse::<Spreading>().map_err(|error| error.to_string());
        assert!(said.is_err_and(|said| said.contains("'bonding'") && said.contains("bond-one-mac")));
    }
}
