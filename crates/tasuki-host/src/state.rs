//! A host's state as pairs of a key and a value, and the change of a value.

use serde::{Deserialize, Serialize};
use std::{fmt, net::Ipv4Addr, path::PathBuf};
use tasuki_cluster::{MacAddr, StripePlan};

/// A part of a host's state that can be read and set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Key {
    /// Whether a virtual interface of Tasuki's exists.
    Interface {
        /// Its name.
        interface: String,
    },
    /// MTU of an interface.
    Mtu {
        /// The interface.
        interface: String,
    },
    /// An offload that was asked for, by the name that `ethtool -k` lists.
    Offload {
        /// The interface.
        interface: String,
        /// The feature.
        feature: String,
    },
    /// An address of an interface.
    Address {
        /// The interface.
        interface: String,
        /// The address.
        address: Ipv4Addr,
        /// Bits of its network.
        #[serde(default = "whole")]
        prefix: u8,
    },
    /// Whether an interface is administratively up.
    Up {
        /// The interface.
        interface: String,
    },
    /// A kernel setting below `/proc/sys`.
    Sysctl {
        /// Its path below `/proc/sys`.
        path: String,
    },
    /// A permanent neighbour.
    Neighbour {
        /// The interface.
        interface: String,
        /// Its address.
        address: Ipv4Addr,
    },
    /// The route to a single address.
    Route {
        /// The address.
        destination: Ipv4Addr,
    },
    /// Whether an interface has a clsact qdisc, which holds classifier programs.
    Clsact {
        /// The interface.
        interface: String,
    },
    /// Most frames that the kernel makes of one buffer for an interface.
    GsoMaxSegs {
        /// The interface.
        interface: String,
    },
    /// When a NIC interrupts for received frames, as its driver reports it (`ethtool -c`).
    Coalescing {
        /// The interface.
        interface: String,
    },
    /// How long the kernel leaves a NIC's interrupt off after a poll.
    NapiDelay {
        /// The interface.
        interface: String,
    },
    /// Frames that a NIC's receive and send queues hold (`ethtool -g`).
    Rings {
        /// The interface.
        interface: String,
    },
    /// The striping of plain TCP and UDP over all NICs.
    Striping,
    /// A file's content.
    File {
        /// The file.
        path: PathBuf,
    },
    /// A symbolic link's target.
    Symlink {
        /// The link.
        path: PathBuf,
    },
}

/// The prefix of addresses in records of versions that knew no other prefix.
fn whole() -> u8 {
    32
}

/// The value of a [`Key`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// It does not exist.
    Absent,
    /// It exists.
    Present,
    /// On or off.
    On(bool),
    /// A number.
    Number(u32),
    /// A setting, a file's content or a link's target.
    Text(String),
    /// A neighbour's MAC address.
    Mac(MacAddr),
    /// A route of the plan.
    Route(RouteValue),
    /// How packets are striped.
    Striping(StripingValue),
    /// When a NIC interrupts.
    Coalescing(CoalescingValue),
    /// How long a NIC's interrupt stays off.
    NapiDelay(NapiDelayValue),
    /// Lengths of queues.
    Rings(RingsValue),
    /// A route that is not of the plan's form, kept as a whole.
    OtherRoute {
        /// The kernel's message in hexadecimal, in which interfaces are given by their indices.
        message: String,
    },
}

/// When a NIC interrupts for received frames: see [`tasuki_sys::ethtool::Coalescing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoalescingValue {
    /// Delay, microseconds. Some drivers give small numbers another meaning.
    pub rx_usecs: u32,
    /// Number of frames after which the NIC waits no longer.
    pub rx_frames: u32,
    /// Whether the driver chooses the delay by itself.
    pub adaptive_rx: bool,
}

/// Lengths of a NIC's queues, frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingsValue {
    /// Length of the receive queues.
    pub rx: u32,
    /// Length of the send queues.
    pub tx: u32,
}

/// How long the kernel leaves a NIC's interrupt off after a poll.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NapiDelayValue {
    /// Time until the next poll, nanoseconds (`gro_flush_timeout`).
    pub flush_ns: u64,
    /// Number of polls in vain until the interrupt is turned on again (`napi_defer_hard_irqs`).
    pub defer_irqs: u32,
    /// Receiving instances of the NIC that have other values: number in the kernel, and the two values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<(u32, u64, u32)>,
}

/// Striping: the plan, or what is known of the one in force. Two are equal if their plans have the same
/// checksum.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StripingValue {
    /// Checksum of the plan; `None`: striping is set up in part, or not by this plan alone.
    pub sum: Option<u32>,
    /// The plan, if it is known: the kernel keeps only its checksum.
    pub plan: Option<StripePlan>,
}

impl StripingValue {
    /// A plan that is to be in force.
    pub fn of(plan: &StripePlan) -> Self {
        // Names, numbers and addresses can always be written as JSON.
        let text = serde_json::to_string(plan).unwrap_or_default();
        Self { sum: Some(crc32c::crc32c(text.as_bytes())), plan: Some(plan.clone()) }
    }
}

impl PartialEq for StripingValue {
    fn eq(&self, other: &Self) -> bool {
        self.sum == other.sum
    }
}

impl Eq for StripingValue {}

/// A route as the plan has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteValue {
    /// Source address that the kernel prefers.
    pub source: Ipv4Addr,
    /// One or more next hops.
    pub hops: Vec<Hop>,
}

/// A next hop of a [`RouteValue`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// Outgoing interface.
    pub interface: String,
    /// The next host's link address; `None`: the destination itself is on the link.
    pub via: Option<Ipv4Addr>,
    /// Relative weight, 1..=256.
    pub weight: u16,
}

/// A change of one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The key.
    pub key: Key,
    /// Its value before.
    pub from: Value,
    /// Its value afterwards.
    pub to: Value,
}

impl Key {
    /// The interface that the key belongs to, if it belongs to one.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Key::Interface { interface }
            | Key::Mtu { interface }
            | Key::Offload { interface, .. }
            | Key::Address { interface, .. }
            | Key::Up { interface }
            | Key::Clsact { interface }
            | Key::GsoMaxSegs { interface }
            | Key::Coalescing { interface }
            | Key::NapiDelay { interface }
            | Key::Rings { interface }
            | Key::Neighbour { interface, .. } => Some(interface),
            Key::Sysctl { path } => {
                let interface = path.strip_prefix("net/ipv4/conf/")?.split('/').next()?;
                (!matches!(interface, "all" | "default")).then_some(interface)
            }
            Key::Striping | Key::Route { .. } | Key::File { .. } | Key::Symlink { .. } => None,
        }
    }

    /// Whether the value outlives a restart of the machine.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Key::File { .. } | Key::Symlink { .. })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Interface { interface } => write!(f, "interface {interface}"),
            Key::Mtu { interface } => write!(f, "MTU of {interface}"),
            Key::Offload { interface, feature } => write!(f, "offload {feature} of {interface}"),
            Key::Address { interface, address, prefix } => {
                write!(f, "address {address}/{prefix} of {interface}")
            }
            Key::Up { interface } => write!(f, "{interface} up"),
            Key::Sysctl { path } => write!(f, "{path}"),
            Key::Neighbour { interface, address } => write!(f, "neighbour {address} on {interface}"),
            Key::Clsact { interface } => write!(f, "place for programs (clsact) on {interface}"),
            Key::GsoMaxSegs { interface } => write!(f, "frames at once (gso_max_segs) of {interface}"),
            Key::Coalescing { interface } => write!(f, "interrupt delay (ethtool) of {interface}"),
            Key::NapiDelay { interface } => write!(f, "interrupt delay (NAPI) of {interface}"),
            Key::Rings { interface } => write!(f, "queue lengths of {interface}"),
            Key::Striping => write!(f, "striping"),
            Key::Route { destination } => write!(f, "route to {destination}"),
            Key::File { path } => write!(f, "file {}", path.display()),
            Key::Symlink { path } => write!(f, "link {}", path.display()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Absent => write!(f, "-"),
            Value::Present => write!(f, "there"),
            Value::On(on) => write!(f, "{}", if *on { "on" } else { "off" }),
            Value::Number(number) => write!(f, "{number}"),
            Value::Text(text) if text.contains('\n') => write!(f, "{} lines", text.lines().count()),
            Value::Text(text) => write!(f, "{text}"),
            Value::Mac(mac) => write!(f, "{mac}"),
            Value::Route(route) => write!(f, "{route}"),
            Value::Striping(StripingValue { plan: Some(plan), .. }) => write!(f, "{plan}"),
            Value::Striping(StripingValue { sum: None, .. }) => write!(f, "set up in part"),
            Value::Striping(_) => write!(f, "another plan"),
            Value::Coalescing(value) => write!(f, "{value}"),
            Value::NapiDelay(value) => write!(f, "{value}"),
            Value::Rings(RingsValue { rx, tx }) => write!(f, "rx {rx}, tx {tx}"),
            Value::OtherRoute { .. } => write!(f, "a route of somebody else's"),
        }
    }
}

impl fmt::Display for CoalescingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let adaptive = if self.adaptive_rx { "adaptive-rx on, " } else { "" };
        write!(f, "{adaptive}rx-usecs {}", self.rx_usecs)?;
        if self.rx_frames > 0 { write!(f, ", rx-frames {}", self.rx_frames) } else { Ok(()) }
    }
}

impl fmt::Display for NapiDelayValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gro_flush_timeout {} ns, napi_defer_hard_irqs {}", self.flush_ns, self.defer_irqs)?;
        if self.instances.is_empty() { Ok(()) } else { write!(f, ", {} others", self.instances.len()) }
    }
}

impl fmt::Display for RouteValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let several = self.hops.len() > 1;
        for (number, hop) in self.hops.iter().enumerate() {
            let separator = if number > 0 { ", " } else { "" };
            write!(f, "{separator}{}", hop.interface)?;
            if let Some(via) = hop.via {
                write!(f, " via {via}")?;
            }
            if several {
                write!(f, " weight {}", hop.weight)?;
            }
        }
        write!(f, " from {}", self.source)
    }
}
