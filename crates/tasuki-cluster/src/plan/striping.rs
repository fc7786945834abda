//! Plain TCP and UDP over all NICs: the destination table of one host.

use super::{
    host::{IDENTITY_INTERFACE, SysctlPlan},
    routes::Router,
};
use crate::{
    AROUND_FRAME, Cluster, DEFAULT_MTU, HostId, MacAddr, NicId, Rate, STRIPE_MAX, STRIPE_PIECE_US,
    StripePolicy,
};
use serde::{Deserialize, Serialize};
use std::{fmt, net::Ipv4Addr};

/// Most frames that TCP hands to a NIC at once: the kernel's own limit (`GSO_MAX_SEGS`).
const PIECE_MAX: u64 = 65_535;

/// How one host stripes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripePlan {
    /// How the NIC for a packet is chosen.
    pub policy: StripePolicy,
    /// Frames that TCP hands to one NIC at once.
    pub granularity: u32,
    /// The host's own identity address.
    pub identity: Ipv4Addr,
    /// NICs that routes to these hosts may choose. Those that are in no slot take no part.
    pub nics: Vec<StripeNic>,
    /// Other hosts, in the order of the file.
    pub peers: Vec<StripePeer>,
}

/// An own NIC that is striped over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeNic {
    /// Interface name.
    pub interface: String,
    /// Line rate.
    pub rate: Rate,
}

/// Another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripePeer {
    /// Its identity address.
    pub identity: Ipv4Addr,
    /// The rails to it: two or more.
    pub slots: Vec<StripeSlot>,
}

/// A line of the paper's destination table: an own NIC, and the other host's NIC that it sends to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeSlot {
    /// Own NIC, index in [`StripePlan::nics`].
    pub nic: usize,
    /// Link address of the other host's NIC.
    pub remote: Ipv4Addr,
    /// Its MAC address; `None`: the kernel asks for it (ARP).
    pub mac: Option<MacAddr>,
    /// Rate of the slowest part of the path.
    pub rate: Rate,
}

impl StripePlan {
    /// The plan for wires that all have one rate, as in a lab that was built with one. `cluster` is that of
    /// the plan.
    pub fn with_rate(mut self, cluster: &Cluster, rate: Rate) -> Self {
        self.nics.iter_mut().for_each(|nic| nic.rate = rate);
        self.peers.iter_mut().flat_map(|peer| &mut peer.slots).for_each(|slot| slot.rate = rate);
        let chosen = cluster.striping.as_ref().and_then(|striping| striping.granularity);
        let mtu = cluster.nics().map(|nic| cluster.nic_of(nic).mtu).min().unwrap_or(DEFAULT_MTU);
        self.granularity = chosen.unwrap_or_else(|| piece(rate, mtu));
        self
    }
}

impl fmt::Display for StripePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.nics.iter().map(|nic| nic.interface.as_str()).collect();
        let hosts = self.peers.len();
        let s = if hosts == 1 { "" } else { "s" };
        write!(f, "{} over {} to {hosts} host{s}", self.policy, names.join(" "))
    }
}

/// Frames of full size that a NIC of this rate sends in [`STRIPE_PIECE_US`].
fn piece(rate: Rate, mtu: u32) -> u32 {
    let frame_bits = (u64::from(mtu + AROUND_FRAME)) * 8;
    let frames = rate.bits_per_second / 1_000_000 * STRIPE_PIECE_US / frame_bits;
    frames.clamp(1, PIECE_MAX) as u32
}

/// The pairs of NICs over which two hosts stripe: their direct rails between NICs that take part.
pub(crate) fn pairs(cluster: &Cluster, all: Vec<[NicId; 2]>) -> Vec<[NicId; 2]> {
    let Some(striping) = &cluster.striping else { return Vec::new() };
    let takes_part =
        |nic: &NicId| striping.nics.is_empty() || striping.nics.contains(&cluster.nic_of(*nic).name);
    all.into_iter().filter(|pair| pair.iter().all(takes_part)).take(STRIPE_MAX).collect()
}

/// The plan of one host; `None` if it does not stripe, or has two rails to no host.
pub(super) fn plan(router: &Router<'_>, host: HostId) -> Option<StripePlan> {
    let cluster = router.fabric.cluster;
    let striping = cluster.striping.as_ref()?;
    if striping.except.contains(&cluster.host_of(host).name) {
        return None;
    }
    let mut own: Vec<NicId> = Vec::new();
    let mut peers = Vec::new();
    for to in router.fabric.neighbours(host) {
        let pairs = pairs(cluster, router.fabric.pairs(host, to));
        if pairs.len() < 2 {
            continue;
        }
        let slots = pairs.iter().filter_map(|&[nic, peer]| {
            let index = own.iter().position(|known| *known == nic).unwrap_or(own.len());
            if index == STRIPE_MAX {
                return None;
            }
            if index == own.len() {
                own.push(nic);
            }
            let (remote, mac) = (router.addresses.link(peer), cluster.nic_of(peer).mac);
            Some(StripeSlot { nic: index, remote, mac, rate: router.fabric.path([nic, peer]).rate })
        });
        peers.push(StripePeer { identity: router.addresses.identity(to), slots: slots.collect() });
        // A route may choose a NIC that takes no part. The program must be attached there too, to move the
        // packet to another.
        for [nic, _] in router.fabric.pairs(host, to) {
            if !own.contains(&nic) && own.len() < STRIPE_MAX {
                own.push(nic);
            }
        }
    }
    let nics = own.iter().map(|&nic| cluster.nic_of(nic));
    let slowest = nics.clone().map(|nic| (nic.rate, nic.mtu)).min()?;
    let nics = nics.map(|nic| StripeNic { interface: nic.name.clone(), rate: nic.rate });
    Some(StripePlan {
        policy: striping.policy,
        granularity: striping.granularity.unwrap_or_else(|| piece(slowest.0, slowest.1)),
        identity: router.addresses.identity(host),
        nics: nics.collect(),
        peers,
    })
}

/// The setting that makes route lookups by eBPF programs possible: the kernel answers them only for an
/// interface that forwards. No packet ever comes in by this interface.
pub(super) fn asks() -> SysctlPlan {
    SysctlPlan { path: format!("net/ipv4/conf/{IDENTITY_INTERFACE}/forwarding"), value: "1".into() }
}
