//! Who speaks with whom.

use std::net::Ipv6Addr;

use tasuki_wire::Secret;

/// Names a connection of one [`crate::Proto`]. Ids of connections that are over are never valid again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl ConnId {
    /// A small number that no other living connection has: for tables. Reused when the connection is over.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// This endpoint, as its address says it.
#[derive(Clone, Copy, Debug)]
pub struct Local {
    /// Number of the endpoint on its host.
    pub endpoint: u32,
    /// Drawn anew by every endpoint that opens.
    pub incarnation: u64,
    /// Whoever holds it may send to this endpoint.
    pub secret: Secret,
    /// Identity address of the host; IPv4 as `::ffff:a.b.c.d`.
    pub identity: Ipv6Addr,
    /// UDP port on that address.
    pub port: u16,
}

/// Another endpoint, as its address says it.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    /// Number of the endpoint on its host.
    pub endpoint: u32,
    /// Drawn anew by every endpoint that opens.
    pub incarnation: u64,
    /// By which it accepts packets.
    pub secret: Secret,
}
