//! The protocols of the tests.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Ethertype of the frames of a raw path: IEEE 802 Local Experimental 1, for use within a private network.
pub const ETHERTYPE: u16 = 0x88B5;

/// The protocol of a test, and how its peers wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// TCP; the peers sleep in the kernel until something arrives.
    Tcp,
    /// TCP; the peers poll.
    TcpSpin,
    /// UDP; the peers poll.
    Udp,
    /// Frames of an ethertype of their own ([`ETHERTYPE`]); the peers poll a TPACKET_V2 ring.
    PacketRing,
}

impl Protocol {
    /// Name in records, as a stack.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::TcpSpin => "tcp-spin",
            Self::Udp => "udp",
            Self::PacketRing => "packet-ring",
        }
    }

    /// Datapath, as records state it.
    pub fn lane(self) -> &'static str {
        match self {
            Self::Tcp | Self::TcpSpin => "tcp",
            Self::Udp => "udp",
            Self::PacketRing => "raw",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
