//! Whether a host is as it was set up.

use crate::{Change, HostError, Key, Setup, Value};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// The state of a host, compared with its record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Host name.
    pub host: String,
    /// Cluster that was applied; `None`: none was.
    pub cluster: Option<String>,
    /// Whether the host was restarted since.
    pub restarted: bool,
    /// Number of keys that were changed and that `undo` would restore.
    pub changed: usize,
    /// Keys that do not have the value that was set: `from` is their value now, `to` the one that was set.
    pub drift: Vec<Change>,
    /// What `tasuki watch` has changed to lead packets around dead rails, for people; it is not in `drift`.
    #[serde(default)]
    pub led_around: Option<String>,
    /// The cabled NICs.
    pub links: Vec<LinkState>,
    /// How plain TCP and UDP are striped, for people; `None`: they are not.
    #[serde(default)]
    pub striping: Option<String>,
    /// NICs whose interrupt delay is to follow the load, and whether the daemon for it runs.
    #[serde(default)]
    pub following: Option<Following>,
}

/// Interrupt delays that follow the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Following {
    /// The NICs.
    pub nics: Vec<String>,
    /// Whether `tasuki tune run` runs for them.
    pub runs: bool,
}

/// A cabled NIC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkState {
    /// Interface name.
    pub interface: String,
    /// Its link address; `None`: it carries no IP.
    pub address: Option<Ipv4Addr>,
    /// Administratively up.
    pub up: bool,
    /// Whether there is a signal from the other end.
    pub carrier: bool,
    /// MTU in bytes.
    pub mtu: u32,
}

impl Setup {
    /// Compares the host with its record.
    pub fn status(&mut self, host: &str) -> Result<Status, HostError> {
        let mut status = Status { host: host.into(), ..Status::default() };
        let (kernel, journal) = self.parts();
        let Some((record, restarted)) = journal.load()? else { return Ok(status) };
        status.host.clone_from(&record.host);
        status.cluster = Some(record.cluster.clone());
        status.restarted = restarted;
        status.changed = record.changes.iter().filter(|change| change.from != change.to).count();
        let actual = kernel.read_all(record.changes.iter().map(|change| &change.key))?;
        for Change { key, to, .. } in &record.changes {
            let from = actual.get(key).cloned().unwrap_or(Value::Absent);
            if from != *to {
                status.drift.push(Change { key: key.clone(), from: from.clone(), to: to.clone() });
            }
            if let (Key::Striping, Value::Striping(_)) = (key, &from) {
                let shown = if from == *to { to } else { &from };
                status.striping = Some(shown.to_string());
            }
        }
        // A NIC is known to be cabled by the changes that were made to it.
        let mut nics: Vec<&str> = Vec::new();
        for interface in record.changes.iter().filter_map(|change| change.key.interface()) {
            if !nics.contains(&interface) {
                nics.push(interface);
            }
        }
        for interface in nics {
            let Ok(link) = kernel.link(interface) else { continue };
            let (up, carrier, mtu) = (link.up, link.carrier, link.mtu);
            let address = address(&record.changes, interface);
            status.links.push(LinkState { interface: interface.to_owned(), address, up, carrier, mtu });
        }
        Ok(status)
    }
}

/// The first address that a NIC was given.
fn address(changes: &[Change], of: &str) -> Option<Ipv4Addr> {
    changes.iter().find_map(|change| match &change.key {
        Key::Address { interface, address, .. } if interface == of && change.to == Value::Present => {
            Some(*address)
        }
        _ => None,
    })
}
