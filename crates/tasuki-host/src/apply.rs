//! Addresses, neighbours, routes and kernel settings, in the order in which the kernel takes them.

use crate::{identity, sysctl};
use std::{collections::HashMap, io, path::PathBuf};
use tasuki_cluster::{HostPlan, RoutePlan};
use tasuki_sys::{
    ethtool::EthtoolError,
    netlink::{Gateway, Netlink, NetlinkError, Route},
};
use thiserror::Error;

/// Why a host could not be configured. Each variant names the host and the part.
#[derive(Debug, Error)]
pub enum HostError {
    /// No rtnetlink socket.
    #[error("{host}: cannot open an rtnetlink socket: {source}")]
    Socket {
        /// Host name.
        host: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The plan names an interface that the host does not have.
    #[error(
        "{host}: there is no interface {interface}; it has {present}. Correct the NIC's name in the cluster file"
    )]
    NoInterface {
        /// Host name.
        host: String,
        /// Interface in the plan.
        interface: String,
        /// Interfaces that are there.
        present: String,
    },
    /// The kernel refused a change of addresses, routes or neighbours.
    #[error("{host}: {source}")]
    Netlink {
        /// Host name.
        host: String,
        /// What was asked, and the kernel's answer.
        source: NetlinkError,
    },
    /// A kernel setting could not be written.
    #[error("{host}: cannot write {value:?} to {}: {source}", path.display())]
    Sysctl {
        /// Host name.
        host: String,
        /// File below /proc/sys.
        path: PathBuf,
        /// Value that was to be written.
        value: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// An offload could not be read or set.
    #[error("{host}: {source}")]
    Ethtool {
        /// Host name.
        host: String,
        /// What was asked, and the kernel's answer.
        source: EthtoolError,
    },
}

/// Interface indices by name.
type Interfaces = HashMap<String, u32>;

/// Brings the calling thread's network namespace into the state that `plan` describes. Idempotent: what is
/// there already stays. Interfaces that the plan does not name are not touched.
pub fn apply(plan: &HostPlan) -> Result<(), HostError> {
    let mut host = Host {
        name: &plan.host,
        netlink: Netlink::open().map_err(|source| HostError::Socket { host: plan.host.clone(), source })?,
        interfaces: HashMap::new(),
    };
    host.set_identity(plan)?;
    host.read_interfaces()?;
    host.set_links(plan)?;
    sysctl::write(plan)?;
    host.set_neighbours(plan)?;
    for route in &plan.routes {
        host.set_route(route)?;
    }
    Ok(())
}

struct Host<'a> {
    name: &'a str,
    netlink: Netlink,
    interfaces: Interfaces,
}

impl Host<'_> {
    fn fail(&self) -> impl Fn(NetlinkError) -> HostError + use<> {
        let host = self.name.to_owned();
        move |source| HostError::Netlink { host: host.clone(), source }
    }

    fn set_identity(&mut self, plan: &HostPlan) -> Result<(), HostError> {
        let fail = self.fail();
        let index = identity::ensure(&mut self.netlink).map_err(&fail)?;
        self.netlink.add_address(index, plan.identity, 32).map_err(&fail)?;
        self.netlink.set_up(index, true).map_err(&fail)
    }

    fn read_interfaces(&mut self) -> Result<(), HostError> {
        let links = self.netlink.links().map_err(self.fail())?;
        self.interfaces = links.into_iter().map(|link| (link.name, link.index)).collect();
        Ok(())
    }

    fn index(&self, interface: &str) -> Result<u32, HostError> {
        self.interfaces.get(interface).copied().ok_or_else(|| {
            let mut present: Vec<_> = self.interfaces.keys().map(String::as_str).collect();
            present.sort_unstable();
            HostError::NoInterface {
                host: self.name.into(),
                interface: interface.into(),
                present: present.join(", "),
            }
        })
    }

    fn set_links(&mut self, plan: &HostPlan) -> Result<(), HostError> {
        let fail = self.fail();
        for link in &plan.links {
            let index = self.index(&link.interface)?;
            self.netlink.set_mtu(index, link.mtu).map_err(&fail)?;
            self.netlink.add_address(index, link.address, 32).map_err(&fail)?;
            self.netlink.set_up(index, true).map_err(&fail)?;
        }
        Ok(())
    }

    fn set_neighbours(&mut self, plan: &HostPlan) -> Result<(), HostError> {
        let fail = self.fail();
        for neighbour in &plan.neighbours {
            let index = self.index(&neighbour.interface)?;
            self.netlink.set_neighbour(index, neighbour.address, neighbour.mac.0).map_err(&fail)?;
        }
        Ok(())
    }

    fn set_route(&mut self, route: &RoutePlan) -> Result<(), HostError> {
        let gateways = route
            .next_hops
            .iter()
            .map(|hop| Ok(Gateway { index: self.index(&hop.interface)?, via: hop.via, weight: hop.weight }))
            .collect::<Result<_, HostError>>()?;
        let route = Route { destination: route.destination, source: route.source, gateways };
        self.netlink.set_route(&route).map_err(self.fail())
    }
}
