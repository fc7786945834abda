//! What a discovery has found besides cables and switches.

use crate::model::{HostSight, PortId};
use serde::Serialize;

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A host did not answer.
    Unreached,
    /// A NIC could not be used.
    Unusable,
    /// Frames pass in one direction only.
    OneWay,
    /// Two NICs that others join do not hear each other.
    Uneven,
    /// A cable leads from a host to the host itself.
    Loop,
    /// Two interfaces are the same port.
    SamePort,
    /// Two ports of a host have the same MAC address.
    SharedMac,
    /// A NIC has no carrier.
    Dead,
    /// A NIC has a carrier, and nobody was heard.
    Silent,
    /// A NIC is on a switch on which no other NIC is.
    Alone,
    /// A NIC hears machines that are not in the list.
    Strangers,
    /// Hellos came damaged.
    Damaged,
    /// NICs on one cable or switch have different MTUs.
    Mtu,
    /// A cable carries less per second than its NICs say.
    Slow,
    /// A cable carries smaller frames than its NICs are set to.
    Narrow,
    /// A host has no cable to the others.
    Apart,
    /// An interface was left alone.
    LeftAlone,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub kind: Kind,
    /// The NICs that it is about.
    pub ports: Vec<PortId>,
    /// What was found, with the names of hosts and NICs.
    pub says: String,
    /// What helps; empty if nothing needs help.
    pub advice: String,
}

impl Finding {
    pub(crate) fn new(
        kind: Kind,
        ports: impl Into<Vec<PortId>>,
        says: String,
        advice: impl Into<String>,
    ) -> Self {
        Self { kind, ports: ports.into(), says, advice: advice.into() }
    }

    /// The finding in one line.
    pub fn line(&self) -> String {
        if self.advice.is_empty() { self.says.clone() } else { format!("{}; {}", self.says, self.advice) }
    }
}

/// Names a NIC as `host:nic`.
pub(crate) fn port_name(hosts: &[Option<HostSight>], port: PortId) -> String {
    let host = hosts.get(port.host).and_then(Option::as_ref);
    let nic = host.and_then(|host| host.nics.get(port.nic));
    format!("{}:{}", host.map_or("?", |host| host.name.as_str()), nic.map_or("?", |nic| nic.name.as_str()))
}
