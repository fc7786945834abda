//! The model of a checked cluster file: every index in it is valid.

use crate::{DelayWish, Ipv4Net, MacAddr, QueueRules, Rate, SshAddress, SshOptions, SwitchAgent, Tuning};
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf, str::FromStr};

/// Index of a host in [`Cluster::hosts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct HostId(pub usize);
/// Index of a switch in [`Cluster::switches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SwitchId(pub usize);
/// Index of a cable in [`Cluster::cables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct CableId(pub usize);
/// A NIC: its host and its index in [`Host::nics`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct NicId {
    /// The host that the NIC is in.
    pub host: HostId,
    /// Index in [`Host::nics`].
    pub index: usize,
}

/// A checked cluster: hosts, switches and the cables between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Name of the cluster; the default name of a lab.
    pub name: String,
    /// The file that it was read from, for messages.
    pub source: Option<PathBuf>,
    /// The two address ranges that the address plan draws from.
    pub addressing: Addressing,
    /// Whether a pair of hosts whose cables are all dead is led through other hosts (`tasuki watch`). The
    /// default is yes.
    pub fallback: bool,
    /// Whether the packets of jobs carry keyed tags. The default is no.
    pub authenticate: bool,
    /// Plain TCP and UDP over all NICs; `None`: every connection uses one NIC.
    pub striping: Option<Striping>,
    /// The receive-interrupt delay of NICs; `None`: the file has no such table.
    pub tune: Option<Tuning>,
    /// What the jobs of one user may take in the resident runtime.
    pub queue: QueueRules,
    /// How ssh reaches hosts that have no options of their own.
    pub ssh: SshOptions,
    /// Hosts, in the order of the file.
    pub hosts: Vec<Host>,
    /// Switches, in the order of the file.
    pub switches: Vec<Switch>,
    /// Cables, in the order of the file.
    pub cables: Vec<Cable>,
}

/// Whether addresses belong to hosts or to cables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressStyle {
    /// One address per host, which leads to the host whichever cable is used.
    #[default]
    Identity,
    /// One subnet per cable or switch domain and no other address, as in the cross-connection paper (section
    /// 3.1): a host has as many addresses as NICs, its name stands for another one on every other host, and
    /// hosts do not relay.
    Subnets,
}

impl FromStr for AddressStyle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "identity" => Ok(Self::Identity),
            "subnets" => Ok(Self::Subnets),
            _ => Err(format!("{text:?} is no style of addresses: \"identity\" or \"subnets\"")),
        }
    }
}

/// Address ranges of the plan. Host number `h` (from 1, in file order) has identity `identity.address + h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Addressing {
    /// Range of the /32 identity addresses, one per host. Default [`crate::DEFAULT_IDENTITY`].
    pub identity: Ipv4Net,
    /// Range of the link addresses, one per cabled NIC, or of the cables' subnets. Default
    /// [`crate::DEFAULT_LINK`].
    pub link: Ipv4Net,
    /// Whether hosts or cables are addressed.
    pub style: AddressStyle,
}

/// How plain TCP and UDP are spread over NICs: the table `[striping]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Striping {
    /// How the NIC for a packet is chosen.
    pub policy: StripePolicy,
    /// Frames that TCP hands to one NIC at once (`gso_max_segs`); `None`: as many as the slowest NIC sends in
    /// [`crate::STRIPE_PIECE_US`].
    pub granularity: Option<u32>,
    /// Names of the NICs that take part, on every host; empty: all.
    pub nics: Vec<String>,
    /// Hosts that send as without striping. They still receive what others stripe.
    pub except: Vec<String>,
}

/// How the NIC for a packet is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StripePolicy {
    /// The NIC by which the packet will arrive first, by the rates and by what each NIC was given.
    #[default]
    ShortestDelay,
    /// One NIC after the other, as in the paper.
    RoundRobin,
    /// By rates alone: each NIC gets its share of the bytes.
    ByteWeighted,
    /// All packets of a connection use one NIC.
    FlowHash,
}

impl StripePolicy {
    /// All policies, the default first.
    pub const ALL: [Self; 4] = [Self::ShortestDelay, Self::RoundRobin, Self::ByteWeighted, Self::FlowHash];

    /// The name in a cluster file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ShortestDelay => "shortest-delay",
            Self::RoundRobin => "round-robin",
            Self::ByteWeighted => "byte-weighted",
            Self::FlowHash => "flow-hash",
        }
    }
}

impl fmt::Display for StripePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for StripePolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name);
        let found = Self::ALL.into_iter().find(|policy| policy.name() == text);
        found.ok_or_else(|| format!("{text:?} is no policy: {}", names.join(", ")))
    }
}

/// A host and its NICs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    /// Host name (RFC 1123 label).
    pub name: String,
    /// Where `ssh` reaches the host; `None`: at its name. A lab has a management network of its own.
    pub management: Option<SshAddress>,
    /// How `ssh` reaches it. Options that are absent are those of the cluster.
    pub ssh: SshOptions,
    /// CPU cores that ranks may use; `None`: those that the host itself says it has.
    pub cores: Option<u32>,
    /// Rack, if known.
    pub rack: Option<String>,
    /// The module that the rack is part of, if known: hosts that share switches, for instance.
    pub module: Option<String>,
    /// Whether the host may forward packets between hosts that share no cable or switch (default yes).
    pub relay: bool,
    /// The receive-interrupt delay of its NICs; `None`: the cluster's.
    pub delay: Option<DelayWish>,
    /// NICs, in the order of the file.
    pub nics: Vec<Nic>,
}

/// A network interface of a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nic {
    /// Interface name on the host, at most 15 bytes.
    pub name: String,
    /// MAC address, if known. The plan then has static neighbours.
    pub mac: Option<MacAddr>,
    /// Line rate.
    pub rate: Rate,
    /// MTU in bytes (payload of a frame).
    pub mtu: u32,
    /// Whether it carries IP (default yes). A NIC without IP is up and has its MTU, for programs that send
    /// frames themselves.
    pub ip: bool,
    /// The receive-interrupt delay; `None`: the host's.
    pub delay: Option<DelayWish>,
}

/// An Ethernet switch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Switch {
    /// Name, unique among hosts and switches.
    pub name: String,
    /// Number of ports; cables name them 1..=ports.
    pub ports: u32,
    /// Highest rate of a port.
    pub rate: Rate,
    /// How it is asked by SNMP; `None`: it is not asked.
    #[serde(flatten)]
    pub agent: Option<SwitchAgent>,
}

/// A cable between two ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Cable {
    /// Its two ends, in the order of the file.
    pub ends: [End; 2],
    /// Length in metres, if known.
    pub length_m: Option<f64>,
}

/// What a cable is plugged into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// A host's NIC.
    Nic(NicId),
    /// A switch's port, 1..=ports.
    Port {
        /// The switch.
        switch: SwitchId,
        /// Port number, from 1.
        port: u32,
    },
}
