//! The addresses of hosts and NICs, and whether the ranges have room for them.

use super::subnets;
use crate::{AddressStyle, Cluster, HostId, Ipv4Net, LAB_MANAGEMENT, NicId, fabric::Fabric};
use std::net::Ipv4Addr;
use thiserror::Error;

/// Why there is no address plan. The parser reports the same problems with file and line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The identity range is too small.
    #[error("{hosts} hosts need {hosts} identity addresses, but {range} has room for {room}")]
    TooManyHosts {
        /// Number of hosts.
        hosts: usize,
        /// The identity range.
        range: Ipv4Net,
        /// Number of hosts that it has room for.
        room: u64,
    },
    /// The link range is too small.
    #[error("{nics} NICs need {nics} link addresses, but {range} has room for {room}")]
    TooManyNics {
        /// Number of NICs.
        nics: usize,
        /// The link range.
        range: Ipv4Net,
        /// Number of NICs that it has room for.
        room: u64,
    },
    /// Two ranges share addresses.
    #[error("the {first} range {first_range} and the {second} {second_range} overlap")]
    Overlap {
        /// What the first range is for.
        first: &'static str,
        /// The first range.
        first_range: Ipv4Net,
        /// What the second range is for.
        second: &'static str,
        /// The second range.
        second_range: Ipv4Net,
    },
    /// The link range is too small for one subnet per cable.
    #[error("{subnets} cables and switch domains need a subnet each, but {range} has room for {room}")]
    TooManySubnets {
        /// Number of subnets.
        subnets: usize,
        /// The link range.
        range: Ipv4Net,
        /// Number of subnets that fit.
        room: usize,
    },
    /// With one subnet per cable, no cable or switch joins two hosts.
    #[error(
        "with one subnet per cable {from} cannot reach {to}: no cable or switch joins the two, and nobody \
         relays"
    )]
    NoCommonSubnet {
        /// A host.
        from: String,
        /// The host that it cannot reach.
        to: String,
    },
    /// With one subnet per switch domain, a host has two NICs in it.
    #[error("{} and {} would be in one subnet: they reach the same switch", nics[0], nics[1])]
    TwoInOneSubnet {
        /// The two NICs, as `n1:eth1`.
        nics: [String; 2],
    },
    /// No path leads from one host to another, not even through relaying hosts.
    #[error("{from} cannot reach {to}: no cable, switch or relaying host joins them")]
    Unreachable {
        /// A host.
        from: String,
        /// The host that it cannot reach.
        to: String,
    },
}

/// Addresses that hosts cannot have, each with the reason.
const UNUSABLE: [(&str, Ipv4Net); 4] = [
    ("range of the lab's management network", LAB_MANAGEMENT),
    ("range of \"this network\"", Ipv4Net { address: Ipv4Addr::new(0, 0, 0, 0), prefix: 8 }),
    ("loopback range", Ipv4Net { address: Ipv4Addr::new(127, 0, 0, 0), prefix: 8 }),
    ("multicast and reserved range", Ipv4Net { address: Ipv4Addr::new(224, 0, 0, 0), prefix: 3 }),
];

/// Number of addresses of a range that hosts can have: all but the first and the last, which older network
/// stacks take for broadcasts.
fn room(range: Ipv4Net) -> u64 {
    range.size().saturating_sub(2)
}

pub(crate) fn check_hosts(cluster: &Cluster) -> Result<(), PlanError> {
    let range = cluster.addressing.identity;
    // Every host also has an address in the management network of labs.
    let room = room(range).min(room(LAB_MANAGEMENT));
    let hosts = cluster.hosts.len();
    if hosts as u64 > room { Err(PlanError::TooManyHosts { hosts, range, room }) } else { Ok(()) }
}

pub(crate) fn check_nics(cluster: &Cluster) -> Result<(), PlanError> {
    let range = cluster.addressing.link;
    let (nics, room) = (cluster.nics().count(), room(range));
    if nics as u64 > room { Err(PlanError::TooManyNics { nics, range, room }) } else { Ok(()) }
}

/// All overlaps of the ranges with each other and with addresses that hosts cannot have.
pub(crate) fn overlaps(cluster: &Cluster) -> Vec<PlanError> {
    let (identity, link) = (cluster.addressing.identity, cluster.addressing.link);
    let ours = [("identity", identity), ("link", link)];
    let with_unusable = ours.into_iter().flat_map(|ours| UNUSABLE.map(|other| (ours, other)));
    let pairs = [(ours[0], ("link range", link))].into_iter().chain(with_unusable);
    pairs
        .filter(|((_, ours), (_, other))| ours.overlaps(*other))
        .map(|((first, first_range), (second, second_range))| PlanError::Overlap {
            first,
            first_range,
            second,
            second_range,
        })
        .collect()
}

/// The addresses of a cluster.
pub(crate) struct Addresses {
    identities: Vec<Ipv4Addr>,
    links: Vec<Vec<Link>>,
}

/// The address of a NIC with the bits of its network.
type Link = (Ipv4Addr, u8);

impl Addresses {
    pub(crate) fn new(fabric: &Fabric<'_>) -> Result<Self, PlanError> {
        let cluster = fabric.cluster;
        check_hosts(cluster)?;
        check_nics(cluster)?;
        if let Some(overlap) = overlaps(cluster).into_iter().next() {
            return Err(overlap);
        }
        if cluster.addressing.style == AddressStyle::Subnets {
            return Self::of_subnets(fabric);
        }
        let identity = cluster.addressing.identity;
        let identities = (0..cluster.hosts.len()).map(|host| address(identity, host as u64 + 1));
        let links = links(cluster).into_iter();
        let whole = |of_host: Vec<Ipv4Addr>| of_host.into_iter().map(|address| (address, 32)).collect();
        Ok(Self { identities: identities.collect(), links: links.map(whole).collect() })
    }

    /// The addresses for one subnet per cable. The identity of a host is the address of its first cabled NIC.
    fn of_subnets(fabric: &Fabric<'_>) -> Result<Self, PlanError> {
        let cluster = fabric.cluster;
        subnets::check_one_nic_each(fabric)?;
        // NICs without a cable get no address.
        let none = (Ipv4Addr::UNSPECIFIED, 32);
        let mut links: Vec<Vec<Link>> =
            cluster.hosts.iter().map(|host| vec![none; host.nics.len()]).collect();
        for (nics, subnet) in fabric.segments.iter().zip(subnets::subnets(fabric)?) {
            for (nic, number) in nics.iter().zip(1..) {
                links[nic.host.0][nic.index] = (address(subnet, number), subnet.prefix);
            }
        }
        let first = |links: &Vec<Link>| {
            let first = links.iter().find(|link| **link != none);
            first.map_or(Ipv4Addr::LOCALHOST, |(address, _)| *address)
        };
        Ok(Self { identities: links.iter().map(first).collect(), links })
    }

    pub(crate) fn identity(&self, host: HostId) -> Ipv4Addr {
        self.identities[host.0]
    }

    pub(crate) fn link(&self, nic: NicId) -> Ipv4Addr {
        self.links[nic.host.0][nic.index].0
    }

    /// Prefix length of the network that a link address is in.
    pub(crate) fn prefix(&self, nic: NicId) -> u8 {
        self.links[nic.host.0][nic.index].1
    }
}

/// The address with this number in a range that has room for it.
fn address(range: Ipv4Net, number: u64) -> Ipv4Addr {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    Ipv4Addr::from_bits(range.address.to_bits().wrapping_add(number))
}

/// Link addresses of all NICs, cabled or not, so that a new cable renumbers nothing.
///
/// Every host has a block of its own, 256 addresses (fewer in ranges smaller than a /16: half of the range's
/// bits number the host, half the NIC): NIC `n` of host `h`, both counted from 1, has `range + 256 h + n`. A
/// host or NIC appended to the file changes no other address. If the cluster does not fit into blocks,
/// addresses are numbered in the order of the file; then only a new last NIC of the last host changes no
/// other address.
fn links(cluster: &Cluster) -> Vec<Vec<Ipv4Addr>> {
    let range = cluster.addressing.link;
    let bits = 32 - range.prefix.min(32);
    let block = 1_u64 << (bits / 2).min(8);
    let fits = (cluster.hosts.len() as u64 + 1) * block <= range.size()
        && cluster.hosts.iter().all(|host| host.nics.len() as u64 + 2 <= block);
    let mut running = 0;
    let host_links = |(number, host): (usize, &crate::Host)| {
        let first = if fits { (number as u64 + 1) * block + 1 } else { running + 1 };
        running += host.nics.len() as u64;
        (0..host.nics.len() as u64).map(|index| address(range, first + index)).collect()
    };
    cluster.hosts.iter().enumerate().map(host_links).collect()
}
