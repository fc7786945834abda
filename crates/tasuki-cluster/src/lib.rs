//! The spine of Tasuki: one file, `cluster.toml`, describes hosts, NICs, switches and cables, and every
//! command reads it. This crate holds the model, the strict parser, the rails between hosts, the one address
//! plan, and generators of common shapes. It performs no IO besides reading the file.
#![forbid(unsafe_code)]

mod model;
mod plan;
mod units;

pub use model::{
    Addressing, Cable, CableId, Cluster, End, Host, HostId, Nic, NicId, Switch, SwitchId,
};
pub use plan::{AddressPlan, HostPlan, LinkPlan, NeighbourPlan, NextHop, RoutePlan, SysctlPlan};
pub use units::{Ipv4Net, MacAddr, Rate};
