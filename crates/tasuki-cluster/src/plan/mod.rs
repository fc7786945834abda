//! The address plan: which addresses, routes, neighbours and kernel settings each host gets.

mod addresses;
mod around;
mod host;
mod routes;
mod striping;
mod subnets;
mod sysctls;

pub use addresses::PlanError;
pub(crate) use addresses::{check_hosts, check_nics, overlaps};
pub use around::Around;
pub use host::{
    BarePlan, HostPlan, IDENTITY_INTERFACE, LinkPlan, NeighbourPlan, NextHop, RoutePlan, SysctlPlan,
};
pub(crate) use routes::weights_of;
pub(crate) use striping::pairs as striped_pairs;
pub use striping::{StripeNic, StripePeer, StripePlan, StripeSlot};

use crate::{AddressStyle, Cluster, HostId, Nic, NicId, fabric::Fabric};
use addresses::Addresses;
use routes::Router;
use serde::Serialize;
use std::{fmt::Write, net::Ipv4Addr};

/// Addresses and routes of every host, in the order of [`crate::Cluster::hosts`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AddressPlan {
    /// One plan per host.
    pub hosts: Vec<HostPlan>,
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
