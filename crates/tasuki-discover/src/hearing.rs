//! Which NIC hears which.

use crate::model::{HostSight, PortId};
use std::collections::{BTreeMap, BTreeSet};

/// Which NIC hears which: the directions in which hellos came through.
#[derive(Clone, Debug, Default)]
pub struct Hearing {
    /// All NICs; for each those that it hears.
    hears: BTreeMap<PortId, BTreeSet<PortId>>,
}

impl Hearing {
    /// What these hosts have told. Numbers of NICs that no host has told of are passed over.
    pub fn of(hosts: &[Option<HostSight>]) -> Self {
        let mut hears: BTreeMap<PortId, BTreeSet<PortId>> = BTreeMap::new();
        for (number, host) in hosts.iter().enumerate() {
            for (nic, sight) in host.iter().flat_map(|host| host.nics.iter().enumerate()) {
                hears.insert(PortId { host: number, nic }, sight.heard.ports.clone());
            }
        }
        let all: BTreeSet<PortId> = hears.keys().copied().collect();
        for (port, heard) in &mut hears {
            heard.retain(|other| other != port && all.contains(other));
        }
        Self { hears }
    }

    /// All NICs, in order.
    pub fn ports(&self) -> Vec<PortId> {
        self.hears.keys().copied().collect()
    }

    /// Whether `to` hears `from`.
    pub fn is_heard(&self, from: PortId, to: PortId) -> bool {
        self.hears.get(&to).is_some_and(|heard| heard.contains(&from))
    }

    /// The NICs that a NIC hears or is heard by, without `but`.
    pub fn around(&self, port: PortId, but: PortId) -> BTreeSet<PortId> {
        let heard = self.hears.get(&port).into_iter().flatten().copied();
        let by = self.hears.iter().filter(|(_, heard)| heard.contains(&port)).map(|(by, _)| *by);
        heard.chain(by).filter(|other| *other != but && *other != port).collect()
    }

    /// Forgets a NIC that is the same as another: what it hears, and who hears it, is the other's.
    pub fn merge(&mut self, goes: PortId, stays: PortId) {
        let gone = self.hears.remove(&goes).unwrap_or_default();
        self.hears.entry(stays).or_default().extend(gone);
        for (port, heard) in &mut self.hears {
            if heard.remove(&goes) {
                heard.insert(stays);
            }
            heard.remove(port);
        }
    }

    /// Sets of NICs that are joined by hearing each other, each with at least two NICs.
    pub fn components(&self) -> Vec<Vec<PortId>> {
        let (mut seen, mut components) = (BTreeSet::new(), Vec::new());
        for &first in self.hears.keys() {
            if !seen.insert(first) {
                continue;
            }
            let (mut component, mut next) = (vec![first], 0);
            while let Some(&port) = component.get(next) {
                next += 1;
                for &other in self.hears.get(&port).into_iter().flatten() {
                    if self.is_heard(port, other) && seen.insert(other) {
                        component.push(other);
                    }
                }
            }
            component.sort_unstable();
            if component.len() > 1 {
                components.push(component);
            }
        }
        components
    }

    /// Directions, sender first, in which NICs are heard that no component joins.
    pub fn one_way(&self) -> Vec<[PortId; 2]> {
        let mut component = BTreeMap::new();
        for (number, ports) in self.components().into_iter().enumerate() {
            component.extend(ports.into_iter().map(|port| (port, number)));
        }
        let mut found = Vec::new();
        for (&to, heard) in &self.hears {
            for &from in heard {
                let [a, b] = [from, to].map(|port| component.get(&port));
                if a.is_none() || a != b {
                    found.push([from, to]);
                }
            }
        }
        found
    }
}
