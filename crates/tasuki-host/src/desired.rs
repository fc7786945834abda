//! The state that a host is to have, in the order in which it is made.

use crate::{
    Change, Hop, HostError, Key, RingLength, RouteValue, StripingValue, Value, kernel::Kernel,
    offload::is_segmentation_or_checksum,
};
use serde::{Deserialize, Serialize};
use std::{net::Ipv4Addr, path::PathBuf};
use tasuki_cluster::{
    AddressPlan, BarePlan, Cluster, HostId, HostPlan, IDENTITY_INTERFACE, LinkPlan, MacAddr, RailTable, Rate,
    RoutePlan, StripePlan,
};

/// What cabled NICs are to have besides what the plan says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicWish {
    /// Segmentation, merging and checksum offloads; `None`: as they are.
    pub offloads: Option<bool>,
    /// Lengths of their queues; `None`: as they are.
    pub rings: Option<RingLength>,
}

impl NicWish {
    /// Whether nothing is wished.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Everything that a host is to have.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Name of the cluster, for the record.
    pub cluster: String,
    /// The host's part of the address plan.
    pub plan: HostPlan,
    /// MAC addresses of cabled NICs that the cluster file gives.
    pub macs: Vec<(String, MacAddr)>,
    /// Identity address and name of every host of the cluster, for `/etc/hosts`; empty: no names.
    pub names: Vec<(Ipv4Addr, String)>,
    /// What cabled NICs are to have besides what the plan says.
    pub nics: NicWish,
    /// Turn forwarding off, where the plan does not need it, even if it was on before.
    pub stop_forwarding: bool,
    /// Files and symbolic links, in order.
    pub files: Vec<(Key, Value)>,
    /// Whether `tasuki watch` will run: then what it may change is recorded too.
    pub watched: bool,
}

impl Wanted {
    /// What follows from a cluster for one of its hosts: the plan, the names of hosts, and the table of
    /// rails. If `rate` is given, all rails have that rate. `plan` must be that of the cluster.
    pub fn new(cluster: &Cluster, plan: &AddressPlan, host: HostId, rate: Option<Rate>) -> Self {
        let own = &plan.hosts[host.0];
        let mut plan_of_host = own.clone();
        if let Some(rate) = rate {
            plan_of_host.striping = plan_of_host.striping.map(|striping| striping.with_rate(cluster, rate));
        }
        let nics = &cluster.host_of(host).nics;
        let macs = nics.iter().filter_map(|nic| Some((nic.name.clone(), nic.mac?)));
        let is_cabled = |name: &str| own.cabled().any(|(interface, _)| interface == name);
        let rails = &RailTable::of_all(cluster, plan, rate)[host.0];
        let rails = (Key::File { path: PathBuf::from(RailTable::PATH) }, Value::Text(rails.to_json()));
        Self {
            cluster: cluster.name.clone(),
            plan: plan_of_host,
            macs: macs.filter(|(name, _)| is_cabled(name)).collect(),
            names: plan.names(host),
            nics: NicWish::default(),
            stop_forwarding: false,
            files: vec![rails],
            watched: false,
        }
    }
}

/// The part of a plan that is set in the kernel.
pub fn of_plan(plan: &HostPlan) -> Vec<(Key, Value)> {
    let identity = || IDENTITY_INTERFACE.to_owned();
    let mut all = Vec::new();
    if plan.has_identity_interface() {
        let address = Key::Address { interface: identity(), address: plan.identity, prefix: 32 };
        all.extend([
            (Key::Interface { interface: identity() }, Value::Present),
            (address, Value::Present),
            (Key::Up { interface: identity() }, Value::On(true)),
        ]);
    }
    all.extend(plan.links.iter().flat_map(of_link));
    all.extend(plan.bare.iter().flat_map(of_bare));
    let sysctl = |path: &str, value: &str| (Key::Sysctl { path: path.into() }, Value::Text(value.into()));
    all.extend(plan.sysctls.iter().map(|setting| sysctl(&setting.path, &setting.value)));
    all.extend(plan.neighbours.iter().map(|neighbour| {
        let (interface, address) = (neighbour.interface.clone(), neighbour.address);
        (Key::Neighbour { interface, address }, Value::Mac(neighbour.mac))
    }));
    all.extend(plan.routes.iter().map(of_route));
    all.extend(plan.striping.iter().flat_map(of_striping));
    all
}

/// Puts further keys of NICs where they are made once the NICs are up and before anything of theirs in
/// `/proc/sys` is set.
pub fn insert_before_settings(desired: &mut Vec<(Key, Value)>, more: Vec<(Key, Value)>) {
    let settings = desired.iter().position(|(key, _)| matches!(key, Key::Sysctl { .. }));
    let before = settings.unwrap_or(desired.len());
    desired.splice(before..before, more);
}

/// The striping program is attached after everything that it needs, and the clsact qdisc is removed after it.
fn of_striping(plan: &StripePlan) -> Vec<(Key, Value)> {
    let nics = || plan.nics.iter().map(|nic| nic.interface.clone());
    let place = |interface| (Key::Clsact { interface }, Value::Present);
    let pieces = |interface| (Key::GsoMaxSegs { interface }, Value::Number(plan.granularity));
    let mut all: Vec<_> = nics().map(place).collect();
    all.push((Key::Striping, Value::Striping(StripingValue::of(plan))));
    all.extend(nics().map(pieces));
    all
}

/// The key and value of one route.
pub fn of_route(route: &RoutePlan) -> (Key, Value) {
    let hops = route.next_hops.iter().map(|hop| {
        // For a route with one next hop the kernel keeps no weight.
        let weight = if route.next_hops.len() == 1 { 1 } else { hop.weight };
        Hop { interface: hop.interface.clone(), via: hop.via, weight }
    });
    let value = RouteValue { source: route.source, hops: hops.collect() };
    (Key::Route { destination: route.destination }, Value::Route(value))
}

/// What `tasuki watch` changes while it runs: the routes to identity addresses, and whether cabled NICs
/// forward.
pub fn of_watch(plan: &HostPlan) -> Vec<Key> {
    // Routes to link addresses have the destination itself on the link, and the watch does not change them.
    let routes = plan.routes.iter().filter(|route| route.next_hops.iter().all(|hop| hop.via.is_some()));
    let routes = routes.map(|route| Key::Route { destination: route.destination });
    let forwarding = plan.links.iter().map(|link| forwarding(&link.interface));
    routes.chain(forwarding).collect()
}

/// The setting that has a NIC forward packets.
pub fn forwarding(interface: &str) -> Key {
    Key::Sysctl { path: format!("{PER_NIC}{interface}{FORWARDING}") }
}

/// Where settings of NICs are, and the one of them that has a NIC forward packets.
const PER_NIC: &str = "net/ipv4/conf/";
const FORWARDING: &str = "/forwarding";

impl Change {
    /// Whether this is of the kind that `tasuki watch` changes while it runs: a route to an identity
    /// address, or whether a NIC forwards.
    pub fn may_be_of_watch(&self) -> bool {
        match (&self.key, &self.to) {
            (Key::Route { .. }, Value::Route(route)) => route.hops.iter().all(|hop| hop.via.is_some()),
            (Key::Sysctl { path }, _) => path.starts_with(PER_NIC) && path.ends_with(FORWARDING),
            _ => false,
        }
    }
}

fn of_link(link: &LinkPlan) -> [(Key, Value); 3] {
    let interface = || link.interface.clone();
    [
        (Key::Mtu { interface: interface() }, Value::Number(link.mtu)),
        (Key::Address { interface: interface(), address: link.address, prefix: link.prefix }, Value::Present),
        (Key::Up { interface: interface() }, Value::On(true)),
    ]
}

fn of_bare(nic: &BarePlan) -> [(Key, Value); 2] {
    let interface = || nic.interface.clone();
    [
        (Key::Mtu { interface: interface() }, Value::Number(nic.mtu)),
        (Key::Up { interface: interface() }, Value::On(true)),
    ]
}

/// The offloads to be switched on all cabled NICs of a plan.
pub fn of_offloads(kernel: &mut Kernel, wanted: &Wanted) -> Result<Vec<(Key, Value)>, HostError> {
    let mut all = Vec::new();
    for (interface, _) in wanted.plan.cabled() {
        all.extend(offloads_of(kernel, &wanted.plan, interface, wanted.nics.offloads)?);
    }
    Ok(all)
}

/// The offloads of one NIC to be switched: those that are asked for, and merging by hardware on relays, which
/// the kernel switches off by itself once a NIC forwards, and never on again.
pub fn offloads_of(
    kernel: &mut Kernel,
    plan: &HostPlan,
    interface: &str,
    wished: Option<bool>,
) -> Result<Vec<(Key, Value)>, HostError> {
    let changeable = kernel.features_of(interface)?.iter().filter(|feature| feature.changeable);
    let all = changeable.filter_map(|feature| {
        let value = match wished {
            _ if feature.name == "rx-lro" && plan.relays() => false,
            Some(on) if is_segmentation_or_checksum(&feature.name) => on,
            _ => return None,
        };
        let (interface, feature) = (interface.to_owned(), feature.name.clone());
        Some((Key::Offload { interface, feature }, Value::On(value)))
    });
    Ok(all.collect())
}
