//! Names of connections, and the addresses of endpoints.

use std::net::Ipv6Addr;

use tasuki_wire::Secret;

/// Names a connection of one [`crate::Proto`]. The id of a connection that has ended never becomes valid
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl ConnId {
    /// A small number, different from that of every other living connection, for use as an index of tables.
    /// Reused when the connection has ended.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// The local endpoint, as its address describes it.
#[derive(Clone, Copy, Debug)]
pub struct Local {
    /// Number of the endpoint on its host.
    pub endpoint: u32,
    /// A random number, drawn anew by every endpoint that opens.
    pub incarnation: u64,
    /// Secret that senders to this endpoint must know.
    pub secret: Secret,
    /// Identity address of the host; IPv4 as `::ffff:a.b.c.d`.
    pub identity: Ipv6Addr,
    /// UDP port on that address.
    pub port: u16,
}

/// A remote endpoint, as its address describes it.
#[derive(Clone, Copy, Debug)]
pub struct Remote {
    /// Number of the endpoint on its host.
    pub endpoint: u32,
    /// A random number, drawn anew by every endpoint that opens.
    pub incarnation: u64,
    /// Secret that packets to this endpoint must prove to know.
    pub secret: Secret,
}
