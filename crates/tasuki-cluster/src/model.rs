//! What a cluster file says, checked: every index in it is valid.

use crate::{DelayWish, Ipv4Net, MacAddr, Rate, SshAddress, SshOptions, Tuning};
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
    /// Whether a pair of hosts whose cables are all dead is led through others (`tasuki watch`); default yes.
    pub fallback: bool,
    /// Plain TCP and UDP over all NICs; `None`: every connection over one.
    pub striping: Option<Striping>,
    /// The receive-interrupt delay of NICs; `None`: no table of that name.
    pub tune: Option<Tuning>,
    /// How ssh reaches hosts that say nothing else.
    pub ssh: SshOptions,
    /// Hosts, in the order of the file.
    pub hosts: Vec<Host>,
    /// Switches, in the order of the file.
    pub switches: Vec<Switch>,
    /// Cables, in the order of the file.
    pub cables: Vec<Cable>,
}

/// Whether hosts or cables are what addresses belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressStyle {
    /// One address per host, that leads to the host whichever cable is used.
    #[default]
    Identity,
    /// One subnet per cable or switch domain and no other address, as in the cross-connection paper (section 3.1): a host has as many
    /// addresses as NICs, its name leads to another one on every other host, and nobody relays.
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
    /// Range of the link addresses, one per cabled NIC, or of the cables' subnets. Default [`crate::DEFAULT_LINK`].
    pub link: Ipv4Net,
    /// What is addressed.
    pub style: AddressStyle,
}

/// How plain TCP and UDP are spread over NICs: the table `[striping]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Striping {
    /// Which NIC a packet takes.
    pub policy: StripePolicy,
    /// Frames that TCP hands to one NIC at once (`gso_max_segs`); `None`: as many as the slowest NIC sends in
    /// [`crate::STRIPE_PIECE_US`].
    pub granularity: Option<u32>,
    /// Names of the NICs that take part, on every host; empty: all.
    pub nics: Vec<String>,
    /// Hosts that send as without striping. They receive what others stripe all the same.
    pub except: Vec<String>,
}

/// Which NIC a packet takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StripePolicy {
    /// The one by which it will be there first, by rates and what was given to each.
    #[default]
    ShortestDelay,
    /// One after the other, as in the paper.
    RoundRobin,
    /// By rates alone: to each its part of the bytes.
    ByteWeighted,
    /// All packets of a connection to one NIC.
    FlowHash,
}

impl StripePolicy {
    /// All of them, the default first.
    pub const ALL: [Self; 4] = [Self::ShortestDelay, Self::RoundRobin, Self::ByteWeighted, Self::FlowHash];

    /// As it stands in a cluster file.
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
    /// Where `ssh` reaches the host; `None`: at its name. The lab has a management network of its own.
    pub management: Option<SshAddress>,
    /// How `ssh` reaches it; what is absent is the cluster's.
    pub ssh: SshOptions,
    /// CPU cores that ranks may use.
    pub cores: u32,
    /// Rack, if known.
    pub rack: Option<String>,
    /// What the rack is a part of, if known: hosts that share switches, say.
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
    /// MAC address, if known. The plan makes static neighbours where it is.
    pub mac: Option<MacAddr>,
    /// Line rate.
    pub rate: Rate,
    /// MTU in bytes (payload of a frame).
    pub mtu: u32,
    /// Whether it carries IP (default yes). Without, it is up and has its MTU, for programs that send frames themselves.
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
