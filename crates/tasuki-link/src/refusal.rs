//! What the network says about packets that it did not deliver (the socket's error queue).

use std::net::SocketAddr;

/// A packet to `to` was refused by that host, by a router, or by this host's own NIC. It is evidence about an address, not about
/// one packet: the kernel joins and limits such reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Where the packet was going.
    pub to: SocketAddr,
    /// Why it did not arrive.
    pub kind: RefusalKind,
    /// Whether this host said so (no route, NIC down, MTU) and not the network (ICMP).
    pub own: bool,
}

/// Why a packet was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The host lives and no socket has that port: the process is gone.
    PortUnreachable,
    /// No answer from that host, or no way to it.
    HostUnreachable,
    /// No route.
    NetUnreachable,
    /// The NIC or its cable is down.
    NetDown,
    /// The packet exceeds the path's MTU.
    TooBig {
        /// The largest IP packet that passes, in bytes; 0 if unknown.
        mtu: u32,
    },
    /// Something else, as an `errno` value.
    Other(i32),
}
