//! What one host gets: addresses, routes, neighbours and kernel settings.

use super::striping::{self, StripePlan};
use crate::{AddressStyle, HostId, MacAddr};
use serde::Serialize;
use std::net::Ipv4Addr;

/// Name of the interface that carries a host's identity address, the same on every host, so that settings
/// which name an interface (`FI_TCP_IFACE`, `NCCL_SOCKET_IFNAME`, ...) hold for the whole cluster.
pub const IDENTITY_INTERFACE: &str = "tasuki0";

/// Everything that `tasuki-host` sets on one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostPlan {
    /// Host name.
    pub host: String,
    /// Whether addresses belong to hosts or to cables.
    pub style: AddressStyle,
    /// The host's /32 identity address, on [`IDENTITY_INTERFACE`]. With one subnet per cable it is the
    /// address of the first cabled NIC.
    pub identity: Ipv4Addr,
    /// The address by which this host reaches each host of the cluster, itself included, in the order of
    /// [`crate::Cluster::hosts`].
    pub peers: Vec<Ipv4Addr>,
    /// Cabled NICs with their addresses. NICs without a cable are not touched.
    pub links: Vec<LinkPlan>,
    /// Cabled NICs that carry no IP.
    pub bare: Vec<BarePlan>,
    /// Routes to other hosts' link and identity addresses. Link routes come first, because identity routes
    /// need them.
    pub routes: Vec<RoutePlan>,
    /// Static neighbours, for NICs whose peer has a known MAC address.
    pub neighbours: Vec<NeighbourPlan>,
    /// Kernel settings, in the order in which they are to be written.
    pub sysctls: Vec<SysctlPlan>,
    /// Plain TCP and UDP over all NICs.
    pub striping: Option<StripePlan>,
}

/// One NIC: link address and MTU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkPlan {
    /// Interface name.
    pub interface: String,
    /// The NIC's link address.
    pub address: Ipv4Addr,
    /// Length of its network prefix: 32, or that of the cable's subnet.
    pub prefix: u8,
    /// MTU in bytes.
    pub mtu: u32,
}

/// A NIC without IP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BarePlan {
    /// Interface name.
    pub interface: String,
    /// MTU in bytes.
    pub mtu: u32,
}

/// A route to a single address (/32).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoutePlan {
    /// The host to which the route leads, for messages and tables.
    pub to: HostId,
    /// Destination address (/32).
    pub destination: Ipv4Addr,
    /// Source address that the kernel prefers on this route.
    pub source: Ipv4Addr,
    /// One or more next hops; several make a multipath route weighted by rate.
    pub next_hops: Vec<NextHop>,
}

/// A next hop of a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NextHop {
    /// Outgoing interface.
    pub interface: String,
    /// The neighbour's link address; `None`: the destination itself is on the link.
    pub via: Option<Ipv4Addr>,
    /// Relative weight, 1..=256.
    pub weight: u16,
}

/// A permanent neighbour entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NeighbourPlan {
    /// Interface.
    pub interface: String,
    /// Link address of the peer.
    pub address: Ipv4Addr,
    /// Its MAC address.
    pub mac: MacAddr,
}

/// A kernel setting, path relative to `/proc/sys`, e.g. `net/ipv4/conf/eth1/forwarding`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SysctlPlan {
    /// Path relative to `/proc/sys`.
    pub path: String,
    /// Value to write.
    pub value: String,
}

impl HostPlan {
    /// Whether the host's identity address is on an interface of its own, [`IDENTITY_INTERFACE`].
    pub fn has_identity_interface(&self) -> bool {
        self.style == AddressStyle::Identity
    }

    /// Names and MTUs of all cabled NICs, those without IP last.
    pub fn cabled(&self) -> impl Iterator<Item = (&str, u32)> {
        let links = self.links.iter().map(|link| (link.interface.as_str(), link.mtu));
        links.chain(self.bare.iter().map(|bare| (bare.interface.as_str(), bare.mtu)))
    }

    /// Leaves out NICs that are not there: their addresses, neighbours and settings, next hops by them, and
    /// routes that have no other. Striping goes with any of its NICs, since its table has all of them.
    pub fn leave_out(&mut self, missing: &[String]) {
        let is_there = |interface: &str| !missing.iter().any(|one| one == interface);
        let of_setting = |path: &str| {
            let rest = path.strip_prefix("net/ipv4/conf/").unwrap_or_default();
            rest.split('/').next().unwrap_or_default().to_owned()
        };
        self.links.retain(|link| is_there(&link.interface));
        self.bare.retain(|bare| is_there(&bare.interface));
        self.neighbours.retain(|neighbour| is_there(&neighbour.interface));
        self.sysctls.retain(|setting| is_there(&of_setting(&setting.path)));
        self.routes.iter_mut().for_each(|route| route.next_hops.retain(|hop| is_there(&hop.interface)));
        self.routes.retain(|route| !route.next_hops.is_empty());
        self.striping.take_if(|striping| !striping.nics.iter().all(|nic| is_there(&nic.interface)));
    }

    /// Whether routes of other hosts lead through this one, so that it forwards their packets.
    pub fn relays(&self) -> bool {
        let asks = striping::asks();
        let mut on = self.sysctls.iter().filter(|setting| setting.value == "1" && **setting != asks);
        on.any(|setting| setting.path.ends_with("/forwarding"))
    }
}
