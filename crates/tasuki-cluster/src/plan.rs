//! The one address plan: which addresses, routes, neighbours and kernel settings each host gets.

use crate::{HostId, MacAddr};
use std::net::Ipv4Addr;

/// Name of the interface that carries a host's identity address, the same on every host, so that settings
/// which name an interface (`FI_TCP_IFACE`, `NCCL_SOCKET_IFNAME`, ...) hold for the whole cluster.
pub const IDENTITY_INTERFACE: &str = "tasuki0";

/// Addresses and routes of every host, in the order of [`crate::Cluster::hosts`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressPlan {
    /// One plan per host.
    pub hosts: Vec<HostPlan>,
}

/// Everything that `tasuki-host` sets on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPlan {
    /// Host name.
    pub host: String,
    /// The host's /32 identity address, on [`IDENTITY_INTERFACE`].
    pub identity: Ipv4Addr,
    /// Cabled NICs with their addresses. NICs without a cable are left alone.
    pub links: Vec<LinkPlan>,
    /// Routes to other hosts' link and identity addresses. Link routes come first: identity routes need them.
    pub routes: Vec<RoutePlan>,
    /// Static neighbours (only where the MAC address of the peer is known).
    pub neighbours: Vec<NeighbourPlan>,
    /// Kernel settings, in the order in which they are to be written.
    pub sysctls: Vec<SysctlPlan>,
}

/// One NIC: link address and MTU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkPlan {
    /// Interface name.
    pub interface: String,
    /// The NIC's /32 link address.
    pub address: Ipv4Addr,
    /// MTU in bytes.
    pub mtu: u32,
}

/// A route to a single address (/32).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutePlan {
    /// Whom the route leads to, for messages and tables.
    pub to: HostId,
    /// Destination address (/32).
    pub destination: Ipv4Addr,
    /// Source address that the kernel prefers on this route.
    pub source: Ipv4Addr,
    /// One or more next hops; several make a multipath route weighted by rate.
    pub next_hops: Vec<NextHop>,
}

/// Where a route goes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// Outgoing interface.
    pub interface: String,
    /// The neighbour's link address; `None`: the destination itself is on the link.
    pub via: Option<Ipv4Addr>,
    /// Relative weight, 1..=256.
    pub weight: u16,
}

/// A permanent neighbour entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighbourPlan {
    /// Interface.
    pub interface: String,
    /// Link address of the peer.
    pub address: Ipv4Addr,
    /// Its MAC address.
    pub mac: MacAddr,
}

/// A kernel setting, path relative to `/proc/sys`, e.g. `net/ipv4/ip_forward`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SysctlPlan {
    /// Path relative to `/proc/sys`.
    pub path: String,
    /// Value to write.
    pub value: String,
}
