//! The address plan: which addresses, routes, neighbours and kernel settings each host gets.

mod addresses;
mod around;
mod routes;
mod striping;
mod subnets;
mod sysctls;

pub use addresses::PlanError;
pub(crate) use addresses::{check_hosts, check_nics, overlaps};
pub use around::Around;
pub(crate) use striping::pairs as striped_pairs;
pub use striping::{StripeNic, StripePeer, StripePlan, StripeSlot};

use crate::{AddressStyle, Cluster, HostId, MacAddr, Nic, NicId, fabric::Fabric};
use addresses::Addresses;
use routes::Router;
use serde::Serialize;
use std::{fmt::Write, net::Ipv4Addr};

/// Name of the interface that carries a host's identity address, the same on every host, so that settings
/// which name an interface (`FI_TCP_IFACE`, `NCCL_SOCKET_IFNAME`, ...) hold for the whole cluster.
pub const IDENTITY_INTERFACE: &str = "tasuki0";

/// Addresses and routes of every host, in the order of [`crate::Cluster::hosts`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AddressPlan {
    /// One plan per host.
    pub hosts: Vec<HostPlan>,
}

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

    /// Whether routes of other hosts lead through this one, so that it forwards their packets.
    pub fn relays(&self) -> bool {
        let asks = striping::asks();
        let mut on = self.sysctls.iter().filter(|setting| setting.value == "1" && **setting != asks);
        on.any(|setting| setting.path.ends_with("/forwarding"))
    }
}

impl AddressPlan {
    /// The plan of a cluster. It depends on the cluster alone, so every host computes the same.
    pub fn new(cluster: &Cluster) -> Result<Self, PlanError> {
        let fabric = Fabric::new(cluster);
        let addresses = Addresses::new(&fabric)?;
        let mut router = Router::new(&fabric, &addresses);
        let hosts = (0..cluster.hosts.len()).map(HostId);
        let mut hosts: Vec<_> = hosts.map(|host| host_plan(&mut router, host)).collect::<Result<_, _>>()?;
        // Which hosts relay is known only once all routes are.
        for (index, host) in hosts.iter_mut().enumerate() {
            host.sysctls = match host.style {
                AddressStyle::Identity => {
                    sysctls::sysctls(&host.links, router.relays.contains(&HostId(index)))
                }
                AddressStyle::Subnets => sysctls::of_subnets(&host.links),
            };
            host.sysctls.extend(sysctls::of_bare(&host.bare));
            host.striping = striping::plan(&router, HostId(index));
            host.sysctls.extend(host.striping.iter().map(|_| striping::asks()));
        }
        Ok(Self { hosts })
    }

    /// The hosts file of one of the hosts: `localhost`, then address and name of every host.
    pub fn etc_hosts(&self, cluster: &Cluster, host: HostId) -> String {
        let width = "255.255.255.255".len();
        let mut text =
            format!("# Hosts of the cluster {}\n{:<width$}  localhost\n", cluster.name, "127.0.0.1");
        for (address, name) in self.names(host) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{:<width$}  {name}", address.to_string());
        }
        text
    }

    /// Address and name of every host, as seen from one of the hosts.
    pub fn names(&self, host: HostId) -> Vec<(Ipv4Addr, String)> {
        let names = self.hosts.iter().map(|host| host.host.clone());
        self.hosts[host.0].peers.iter().copied().zip(names).collect()
    }
}

fn host_plan(router: &mut Router<'_>, id: HostId) -> Result<HostPlan, PlanError> {
    let cluster = router.fabric.cluster;
    let mut cabled: Vec<_> = router.fabric.by_host[id.0].values().flatten().copied().collect();
    cabled.sort_unstable();
    let link = |nic| {
        let (address, prefix) = (router.addresses.link(nic), router.addresses.prefix(nic));
        let nic = cluster.nic_of(nic);
        LinkPlan { interface: nic.name.clone(), address, prefix, mtu: nic.mtu }
    };
    let first = cabled.first().copied();
    let bare = |(_, nic): (NicId, &Nic)| BarePlan { interface: nic.name.clone(), mtu: nic.mtu };
    let nics = cluster.host_of(id).nics.iter().enumerate();
    let nics = nics.map(|(index, nic)| (NicId { host: id, index }, nic));
    let bare = nics.filter(|(id, nic)| !nic.ip && router.fabric.is_cabled(*id)).map(bare).collect();
    let links = cabled.into_iter().map(link).collect();
    let style = cluster.addressing.style;
    let (routes, peers) = match style {
        AddressStyle::Identity => {
            let mut routes = router.link_routes(id);
            routes.extend(router.identity_routes(id)?);
            let hosts = (0..cluster.hosts.len()).map(HostId);
            (routes, hosts.map(|host| router.addresses.identity(host)).collect())
        }
        // The kernel makes the route to a subnet when the address in it is added.
        AddressStyle::Subnets => {
            let nics = subnets::nics_towards_all(router.fabric, id, first)?;
            let address = |nic: Option<_>| nic.map_or(Ipv4Addr::LOCALHOST, |nic| router.addresses.link(nic));
            (Vec::new(), nics.into_iter().map(address).collect())
        }
    };
    Ok(HostPlan {
        host: cluster.host_of(id).name.clone(),
        style,
        identity: router.addresses.identity(id),
        peers,
        links,
        bare,
        routes,
        neighbours: router.neighbours(id),
        sysctls: Vec::new(),
        striping: None,
    })
}
