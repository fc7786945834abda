//! The host's rails: which of its NICs reach which other host. `tasuki apply` and the lab write them to a
//! file.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tasuki_link::Mac;
use tasuki_wire::{JobKey, Lane, Lanes};

use crate::address::Address;

/// The file.
const PATH: &str = "/run/tasuki/rails.json";

/// Number of the routed rail: it leads from identity address to identity address, wherever the host's routes
/// lead.
pub(crate) const ROUTED: u8 = 31;

/// Size of the headers in front of a datagram's payload, bytes: IPv4 without options (20) and UDP (8).
pub(crate) const UDP_IPV4_HEADERS: u16 = 28;

/// One rail to one other host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Rail {
    /// Number, the same on both hosts, below [`ROUTED`].
    pub rail: u8,
    /// Own NIC.
    pub nic: String,
    /// Its link address.
    pub local: IpAddr,
    /// Link address of the NIC at the other end.
    pub remote: IpAddr,
    /// Largest IP packet, bytes.
    pub mtu: u16,
    /// Mbit/s, 0 if unknown.
    #[serde(default)]
    pub rate_mbits: u32,
    /// Address of the own NIC, if it has a raw lane. It is not in the file.
    #[serde(skip)]
    pub mac: Option<Mac>,
}

#[derive(Deserialize)]
struct PeerHost {
    #[serde(default)]
    rails: Vec<Rail>,
}

#[derive(Deserialize)]
struct File {
    version: u32,
    identity: IpAddr,
    /// Endpoints of this host need the key of their job.
    #[serde(default)]
    authenticate: bool,
    #[serde(default)]
    peers: HashMap<IpAddr, PeerHost>,
}

/// All rails of this host.
#[derive(Debug, Default)]
pub(crate) struct RailTable {
    /// Identity address of this host, if the file says.
    pub identity: Option<IpAddr>,
    /// Endpoints need the key of their job.
    pub authenticate: bool,
    peers: HashMap<Ipv6Addr, Vec<Rail>>,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RailsError {
    /// It cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It does not say what it should.
    #[error("{}: {reason}; `tasuki lab up` and `tasuki apply` write it anew", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl RailTable {
    /// Reads `path`; without one the file at the usual place, where no file means no rails.
    pub fn load(path: Option<&Path>) -> Result<RailTable, RailsError> {
        let (path, required) = path.map_or((Path::new(PATH), false), |path| (path, true));
        match std::fs::read(path) {
            Ok(text) => RailTable::parse(&text)
                .map_err(|reason| RailsError::Content { path: path.to_owned(), reason }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !required => Ok(RailTable::default()),
            Err(source) => Err(RailsError::Read { path: path.to_owned(), source }),
        }
    }

    fn parse(text: &[u8]) -> Result<RailTable, String> {
        let file: File = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if file.version != 1 {
            return Err(format!("is of version {}, this program reads version 1", file.version));
        }
        let mut peers = HashMap::new();
        for (host, PeerHost { mut rails }) in file.peers {
            rails.sort_by_key(|rail| rail.rail);
            if rails.windows(2).any(|pair| pair[0].rail == pair[1].rail) {
                return Err(format!("two rails to {host} have the same number"));
            }
            if let Some(rail) = rails.iter().find(|rail| rail.rail >= ROUTED || rail.mtu < 1280) {
                return Err(format!(
                    "rail {} to {host}: numbers go up to {}, the MTU is at least 1280",
                    rail.rail,
                    ROUTED - 1
                ));
            }
            peers.insert(mapped(host), rails);
        }
        Ok(RailTable { identity: Some(file.identity), authenticate: file.authenticate, peers })
    }

    /// Rails to the host with this identity, in ascending order of their numbers.
    pub fn to(&self, identity: Ipv6Addr) -> &[Rail] {
        self.peers.get(&identity).map_or(&[], Vec::as_slice)
    }

    /// Notes that a NIC has a raw lane, and its address there.
    pub fn offer_raw(&mut self, nic: &str, mac: Mac) {
        for rail in self.peers.values_mut().flatten().filter(|rail| rail.nic == nic) {
            rail.mac = Some(mac);
        }
    }

    /// Own NICs that are in use, each once, with its link address.
    pub fn nics(&self) -> Vec<(String, IpAddr)> {
        let mut nics: Vec<(String, IpAddr)> =
            self.peers.values().flatten().map(|rail| (rail.nic.clone(), rail.local)).collect();
        nics.sort();
        nics.dedup();
        nics
    }

    /// Rate of all own NICs that are in use together, Mbit/s; `None` if one of them is not known.
    pub fn rate_mbits(&self) -> Option<u32> {
        let mut nics: Vec<(&str, u32)> =
            self.peers.values().flatten().map(|rail| (rail.nic.as_str(), rail.rate_mbits)).collect();
        nics.sort();
        nics.dedup_by_key(|(nic, _)| *nic);
        let known = !nics.is_empty() && nics.iter().all(|&(_, rate)| rate > 0);
        known.then(|| nics.iter().fold(0, |sum: u32, &(_, rate)| sum.saturating_add(rate)))
    }
}

/// An address in the form that the wire carries: IPv4 as `::ffff:a.b.c.d` (RFC 4291, 2.5.5.2).
pub(crate) fn mapped(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Where a rail to a peer begins and ends.
pub(crate) struct RailEnds {
    /// Own address.
    pub local: IpAddr,
    /// Own NIC; `None` for the routed rail.
    pub device: Option<String>,
    /// The peer's address.
    pub remote: IpAddr,
    /// Largest IP packet, bytes.
    pub mtu: u16,
}

/// What this host tells peers of itself when it greets them or is greeted.
pub(crate) struct Host {
    /// The address of the endpoint.
    pub own: Address,
    pub rails: RailTable,
    /// MTU of the routed rail, bytes.
    pub routed_mtu: u16,
    /// Whether long messages may be fetched by length-coded bulk or by stream.
    pub fetches: bool,
    /// The key of the job, if packets carry keyed tags.
    pub job_key: Option<JobKey>,
}

impl Host {
    /// Both ends of a rail to the host of `to`. `None`: there is no such rail here.
    pub fn rail_ends(&self, to: &Address, rail: u8) -> Option<RailEnds> {
        match self.rails.to(to.identity).iter().find(|one| one.rail == rail) {
            Some(one) => {
                let device = Some(one.nic.clone());
                Some(RailEnds { local: one.local, device, remote: one.remote, mtu: one.mtu })
            }
            None if rail == ROUTED => {
                let (local, remote, mtu) = (self.own.host(), to.host(), self.routed_mtu);
                Some(RailEnds { local, device: None, remote, mtu })
            }
            None => None,
        }
    }

    /// The own ends of all rails to a host, as a greeting tells them: in ascending order, the routed rail
    /// last.
    pub fn own_ends(&self, identity: Ipv6Addr) -> Vec<tasuki_wire::Rail> {
        let udp = Lanes::default().with(Lane::Udp);
        let end = |rail: &Rail| tasuki_wire::Rail {
            rail: rail.rail,
            lanes: if rail.mac.is_some() { udp.with(Lane::Raw) } else { udp },
            mtu: rail.mtu,
            rate_mbps: rail.rate_mbits,
            address: mapped(rail.local),
            port: self.own.port,
            mac: rail.mac.unwrap_or_default(),
        };
        let mut ends: Vec<tasuki_wire::Rail> = self.rails.to(identity).iter().map(end).collect();
        ends.push(tasuki_wire::Rail {
            rail: ROUTED,
            lanes: udp,
            mtu: self.routed_mtu,
            rate_mbps: 0,
            address: self.own.identity,
            port: self.own.port,
            mac: [0; 6],
        });
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"version":1,"host":"n1","identity":"10.77.0.1","peers":{
        "10.77.0.2":{"host":"n2","rails":[
            {"rail":1,"nic":"eth2","local":"10.78.1.2","remote":"10.78.2.2","mtu":9000,"rate_mbits":100},
            {"rail":0,"nic":"eth1","local":"10.78.1.1","remote":"10.78.2.1","mtu":1500}]},
        "10.77.0.3":{"host":"n3"}}}"#;

    #[test]
    fn the_file_gives_rails_in_order() {
        let table = RailTable::parse(FILE.as_bytes()).unwrap();
        let n2 = table.to(mapped("10.77.0.2".parse().unwrap()));
        assert_eq!(n2.iter().map(|rail| (rail.rail, rail.mtu)).collect::<Vec<_>>(), [(0, 1500), (1, 9000)]);
        assert!(table.to(mapped("10.77.0.3".parse().unwrap())).is_empty());
        assert_eq!(table.nics().len(), 2);
    }

    #[test]
    fn nics_count_once_in_the_rate() {
        let known = FILE.replace("\"mtu\":1500", "\"mtu\":1500,\"rate_mbits\":1000");
        let more = known.replace(
            "\"host\":\"n3\"",
            "\"host\":\"n3\",\"rails\":[{\"rail\":0,\"nic\":\"eth1\",\"local\":\"10.78.1.1\",\
             \"remote\":\"10.78.2.9\",\"mtu\":1500,\"rate_mbits\":1000}]",
        );
        for (file, rate) in [(FILE, None), (&known, Some(1100)), (&more, Some(1100))] {
            assert_eq!(RailTable::parse(file.as_bytes()).unwrap().rate_mbits(), rate, "{file}");
        }
        assert_eq!(RailTable::default().rate_mbits(), None);
    }

    #[test]
    fn nonsense_is_refused() {
        for (from, to, says) in [
            ("\"version\":1", "\"version\":2", "version 2"),
            ("\"rail\":1", "\"rail\":0", "same number"),
            ("\"rail\":1", "\"rail\":31", "numbers go up to 30"),
            ("9000", "1000", "at least 1280"),
            ("10.78.1.2", "eth2", "invalid IP address"),
        ] {
            let error = RailTable::parse(FILE.replace(from, to).as_bytes()).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
