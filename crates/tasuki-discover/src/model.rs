//! What hosts have told about their NICs and what came in on them.

use crate::lldp::Neighbour;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fmt};

/// A MAC address that prints as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A NIC by its place: the host in the list of hosts, the NIC in the list of that host, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortId {
    /// The host.
    pub host: usize,
    /// The NIC in [`HostSight::nics`].
    pub nic: usize,
}

/// What one NIC is, and what came in on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicSight {
    /// Name of the interface.
    pub name: String,
    /// MAC address.
    pub mac: Mac,
    /// MTU in bytes.
    pub mtu: u32,
    /// Negotiated rate in Mbit/s, if the driver says it.
    pub mbits: Option<u64>,
    /// Whether there is a signal from the other end.
    pub carrier: bool,
    /// Whether it was down, and was brought up for the discovery only.
    pub was_down: bool,
    /// Why nothing could be sent or heard on it, if so.
    pub problem: Option<String>,
    /// What came in on it.
    pub heard: Heard,
}

/// What came in on a NIC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// NICs of this run, which have said hello.
    pub ports: BTreeSet<PortId>,
    /// Hellos of other runs of `tasuki discover`: host and NIC.
    pub others: BTreeSet<String>,
    /// What switches, and hosts that speak LLDP, say of themselves.
    pub neighbours: BTreeSet<Neighbour>,
    /// Senders of frames that are none of these.
    pub senders: BTreeSet<Mac>,
    /// Hellos and LLDP frames that were damaged or impossible.
    pub dropped: u64,
    /// What came of the last frames that were sent to measure the way to this NIC.
    #[serde(default)]
    pub carried: Option<Carried>,
    /// Frames that this host was too slow to take while it was measured.
    #[serde(default)]
    pub missed: u64,
}

/// Frames that came from one NIC, sent to measure what lies between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// Which trial of the run they belong to.
    pub trial: u32,
    /// The largest payload of an Ethernet frame that came, bytes.
    pub largest: u32,
    /// Frames of the train that came, after those by which queues on the way were filled.
    pub frames: u32,
    /// When the first and the last of them came, nanoseconds of the host's clock.
    pub span_ns: [u64; 2],
}

/// What one host has told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSight {
    /// What the host calls itself.
    pub name: String,
    /// What is the same in two answers only if they come from one running system.
    pub boot_id: String,
    /// NICs that took part.
    pub nics: Vec<NicSight>,
    /// Interfaces that did not take part, each with the reason.
    pub left_alone: Vec<(String, String)>,
    /// MAC addresses of all interfaces of the host.
    pub macs: BTreeSet<Mac>,
}
