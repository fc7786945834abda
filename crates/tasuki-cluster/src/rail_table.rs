//! The rails of one host as its message layer reads them from `rails.json`.

use crate::{
    AddressPlan, Cluster, HostId, Rail, Rate, TextError,
    names::{check_interface_form, check_label},
    read_text,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// Version of the format that this crate writes and reads.
const VERSION: u32 = 1;
/// Most rails of a pair that the file can hold; number 31 is the routed rail that every pair has.
const RAILS_MAX: usize = 31;

/// The rails of one host, to every other host of its cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RailTable {
    /// Version of the format: 1.
    pub version: u32,
    /// The host's name.
    pub host: String,
    /// The host's identity address.
    pub identity: Ipv4Addr,
    /// Programs need the key of their job, with which their packets are authenticated. Left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub authenticate: bool,
    /// The other hosts, by identity address.
    pub peers: BTreeMap<Ipv4Addr, RailPeer>,
}

/// Another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RailPeer {
    /// Its name.
    pub host: String,
    /// Direct rails to it. Empty: it is reached only through relaying hosts.
    pub rails: Vec<HostRail>,
}

/// A rail as one of its two hosts sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRail {
    /// Its number, 0..=30: the same on both hosts.
    pub rail: u8,
    /// This host's interface.
    pub nic: String,
    /// This host's link address.
    pub local: Ipv4Addr,
    /// The other host's link address.
    pub remote: Ipv4Addr,
    /// Largest packet in bytes.
    pub mtu: u32,
    /// Line rate in units of 10^6 bit/s, at least 1.
    pub rate_mbits: u64,
}

/// Why a table cannot be read.
#[derive(Debug, Error)]
pub enum RailTableError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}; `tasuki lab up` writes it into every host of a lab, `tasuki apply` on \
             real machines", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file has a form that this version does not write.
    #[error("{}: {why}; build the lab anew with this version of tasuki", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column where they are known.
        why: String,
    },
}

impl RailTable {
    /// The file in which the message layer looks for it, unless TASUKI_RAILS names another.
    pub const PATH: &str = "/run/tasuki/rails.json";

    /// The tables of all hosts, in the order of [`Cluster::hosts`]. `plan` must be the cluster's own. With
    /// `rate`, every rail has that rate, as in a lab that was built with one rate for all cables.
    pub fn of_all(cluster: &Cluster, plan: &AddressPlan, rate: Option<Rate>) -> Vec<Self> {
        let empty = |index: usize| Self {
            version: VERSION,
            host: plan.hosts[index].host.clone(),
            identity: plan.hosts[index].identity,
            authenticate: cluster.authenticate,
            peers: BTreeMap::new(),
        };
        let mut tables: Vec<Self> = (0..plan.hosts.len()).map(empty).collect();
        for ((a, b), rails) in cluster.all_rails() {
            for (side, (own, other)) in [(a, b), (b, a)].into_iter().enumerate() {
                let direct = rails.iter().filter(|rail| rail.is_direct()).take(RAILS_MAX).enumerate();
                let rails =
                    direct.filter_map(|(number, rail)| seen_from(side, number, rail, cluster, plan, rate));
                let peer = RailPeer { host: plan.hosts[other.0].host.clone(), rails: rails.collect() };
                tables[own.0].peers.insert(plan.hosts[other.0].identity, peer);
            }
        }
        tables
    }

    /// The rails to all hosts, peer by peer.
    pub fn rails(&self) -> impl Iterator<Item = &HostRail> {
        self.peers.values().flat_map(|peer| &peer.rails)
    }

    /// The text that is written into the file.
    pub fn to_json(&self) -> String {
        // Strings, numbers and a map with addresses as keys can always be written as JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads a text that [`Self::to_json`] has made. `path` is the name in messages.
    pub fn parse(text: &str, path: &Path) -> Result<Self, RailTableError> {
        let malformed = |why: String| RailTableError::Malformed { path: path.into(), why };
        let table: Self = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        if table.version != VERSION {
            return Err(malformed(format!("it is of version {}, not {VERSION}", table.version)));
        }
        let interfaces = table.rails().map(|rail| (rail.nic.as_str(), check_interface_form(&rail.nic)));
        let hosts = table.peers.values().map(|peer| (peer.host.as_str(), check_label(&peer.host)));
        for (name, checked) in hosts.chain(interfaces) {
            checked.map_err(|why| malformed(format!("bad name {name:?}: {why}")))?;
        }
        for peer in table.peers.values() {
            let mut numbers: Vec<u8> = peer.rails.iter().map(|rail| rail.rail).collect();
            numbers.sort_unstable();
            let twice = numbers.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
            if let Some(number) = twice.or(numbers.last().copied().filter(|&n| usize::from(n) >= RAILS_MAX)) {
                return Err(malformed(format!("rail {number} to {} comes twice or is above 30", peer.host)));
            }
        }
        Ok(table)
    }

    /// Reads a host's file.
    pub fn load(path: &Path) -> Result<Self, RailTableError> {
        let unreadable =
            |error: TextError| RailTableError::Unreadable { path: path.into(), source: error.into() };
        let text = read_text(path).map_err(unreadable)?;
        Self::parse(&text, path)
    }
}

/// A rail as one of its two hosts sees it. `None` if the plan has no address for one of its NICs, which
/// cannot happen with the cluster's own plan.
fn seen_from(
    side: usize,
    number: usize,
    rail: &Rail,
    cluster: &Cluster,
    plan: &AddressPlan,
    rate: Option<Rate>,
) -> Option<HostRail> {
    let address = |side: usize| {
        let nic = rail.nics[side];
        let HostId(host) = nic.host;
        let name = &cluster.nic_of(nic).name;
        plan.hosts[host].links.iter().find(|link| link.interface == *name).map(|link| link.address)
    };
    Some(HostRail {
        rail: u8::try_from(number).ok()?,
        nic: cluster.nic_of(rail.nics[side]).name.clone(),
        local: address(side)?,
        remote: address(1 - side)?,
        mtu: rail.mtu,
        rate_mbits: (rate.unwrap_or(rail.rate).bits_per_second / 1_000_000).max(1),
    })
}
