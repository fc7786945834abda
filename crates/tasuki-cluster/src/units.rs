//! Small value types with a textual form: rates, MAC addresses, IPv4 networks.

use serde::{Deserialize, Serialize};
use std::{fmt, net::Ipv4Addr, str::FromStr};

/// A link rate in bit/s (the line rate of Ethernet: preamble, frame check sequence and inter-frame gap
/// included). Text form: `100M`, `2.5G`, `1G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate {
    /// Bits per second.
    pub bits_per_second: u64,
}

/// An Ethernet MAC address. Text form: `02:54:00:01:00:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr(pub [u8; 6]);

/// An IPv4 network in CIDR form, host bits zero: `10.77.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ipv4Net {
    /// Network address (host bits are zero).
    pub address: Ipv4Addr,
    /// Prefix length, 0..=32.
    pub prefix: u8,
}
