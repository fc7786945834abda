//! IPv4 networks.

use serde::{Deserialize, Serialize};
use std::{fmt, net::Ipv4Addr, str::FromStr};
use thiserror::Error;

/// An IPv4 network in CIDR form, host bits zero: `10.77.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ipv4Net {
    /// Network address (host bits are zero).
    pub address: Ipv4Addr,
    /// Prefix length, 0..=32.
    pub prefix: u8,
}

/// Why a text is not a network.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NetError {
    /// The text is not an address, a slash and a number.
    #[error("{0:?} is not an IPv4 network; write it as 10.77.0.0/16")]
    Syntax(String),
    /// The prefix is longer than an address.
    #[error("{0:?} has a prefix longer than 32 bits; write it as 10.77.0.0/16")]
    Prefix(String),
    /// The address is inside of the network instead of at its start.
    #[error("{given} has host bits set; the network is written {network}")]
    HostBits {
        /// The text as it was written.
        given: String,
        /// The network that holds the address.
        network: Ipv4Net,
    },
}

impl Ipv4Net {
    /// The network that holds `address`. A prefix above 32 counts as 32.
    pub fn around(address: Ipv4Addr, prefix: u8) -> Self {
        let prefix = prefix.min(32);
        Self { address: Ipv4Addr::from_bits(address.to_bits() & mask(prefix)), prefix }
    }

    /// Number of addresses, network address and all-ones address included.
    pub fn size(self) -> u64 {
        1 << (32 - u32::from(self.prefix.min(32)))
    }

    /// Whether the address is in the network.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        Self::around(address, self.prefix).address == self.address
    }

    /// Whether the two networks share an address.
    pub fn overlaps(self, other: Self) -> bool {
        self.contains(other.address) || other.contains(self.address)
    }

    /// The address at offset `number` from the network address; `None` if it is beyond the network.
    pub fn host(self, number: u32) -> Option<Ipv4Addr> {
        if u64::from(number) >= self.size() {
            return None;
        }
        self.address.to_bits().checked_add(number).map(Ipv4Addr::from_bits)
    }
}

fn mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0)
}

impl FromStr for Ipv4Net {
    type Err = NetError;

    fn from_str(text: &str) -> Result<Self, NetError> {
        let syntax = || NetError::Syntax(text.into());
        let (address, prefix) = text.split_once('/').ok_or_else(syntax)?;
        let address: Ipv4Addr = address.parse().map_err(|_| syntax())?;
        if prefix.is_empty() || !prefix.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(syntax());
        }
        let prefix = prefix.parse().ok().filter(|prefix| *prefix <= 32);
        let prefix = prefix.ok_or_else(|| NetError::Prefix(text.into()))?;
        let network = Self::around(address, prefix);
        if network.address == address {
            return Ok(network);
        }
        Err(NetError::HostBits { given: text.into(), network })
    }
}

impl fmt::Display for Ipv4Net {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{}/{}", self.address, self.prefix))
    }
}

impl TryFrom<String> for Ipv4Net {
    type Error = NetError;

    fn try_from(text: String) -> Result<Self, NetError> {
        text.parse()
    }
}

impl From<Ipv4Net> for String {
    fn from(net: Ipv4Net) -> String {
        net.to_string()
    }
}
