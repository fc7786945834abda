//! MAC addresses.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// An Ethernet MAC address. Text form: `02:54:00:01:00:01`; `-` between the bytes is accepted too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MacAddr(pub [u8; 6]);

/// Why a text is not a MAC address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is not a MAC address; write six bytes in hexadecimal, as 02:54:00:01:00:01")]
pub struct MacError(String);

impl MacAddr {
    /// Whether the group bit is set (broadcast included): no NIC can have such an address.
    pub fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Whether all bits are zero.
    pub fn is_zero(self) -> bool {
        self.0 == [0; 6]
    }
}

impl FromStr for MacAddr {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        let error = || MacError(text.into());
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut bytes = [0; 6];
        let mut parts = text.split(separator);
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2).ok_or_else(error)?;
            // from_str_radix alone would accept "+1".
            if !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(error());
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| error())?;
        }
        if parts.next().is_some() { Err(error()) } else { Ok(Self(bytes)) }
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        formatter.pad(&format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"))
    }
}

impl TryFrom<String> for MacAddr {
    type Error = MacError;

    fn try_from(text: String) -> Result<Self, MacError> {
        text.parse()
    }
}

impl From<MacAddr> for String {
    fn from(mac: MacAddr) -> String {
        mac.to_string()
    }
}
