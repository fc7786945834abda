//! The running kernel as a map from keys to values: setting them.

use super::{Kernel, sysctl_file};
use crate::{
    HostError, Key, RouteValue, StripingValue, Value,
    files::{write_file, write_link},
    identity,
};
use std::{fs, net::Ipv4Addr};
use tasuki_sys::{
    ethtool::Ethtool,
    netlink::{Address, Filter, Gateway, Route, SavedRoute},
};

impl Kernel {
    /// Sets one key. A value that the key cannot have changes nothing.
    ///
    /// What was read before is not updated, except for interfaces that are made or removed: call
    /// [`Kernel::refresh`] to read again.
    pub fn write(&mut self, key: &Key, value: &Value) -> Result<(), HostError> {
        let fail = self.fail();
        match (key, value) {
            (Key::Interface { interface }, value) => self.write_interface(interface, value),
            (Key::Mtu { interface }, Value::Number(mtu)) => {
                let index = self.index(interface)?;
                self.netlink.set_mtu(index, *mtu).map_err(fail)
            }
            (Key::Up { interface }, Value::On(up)) => {
                let index = self.index(interface)?;
                self.netlink.set_up(index, *up).map_err(fail)
            }
            (Key::Offload { interface, feature }, Value::On(on)) => {
                let fail = self.ethtool();
                let ethtool = Ethtool::open(interface).map_err(&fail)?;
                ethtool.set_features(|name| name == feature, *on).map_err(fail)
            }
            (Key::Rings { interface }, Value::Rings(wanted)) => {
                let fail = self.ethtool();
                let ethtool = Ethtool::open(interface).map_err(&fail)?;
                ethtool.set_rings(wanted.rx, wanted.tx).map_err(fail)
            }
            (Key::Address { interface, address, prefix }, value) => {
                let address = Address { index: self.index(interface)?, address: *address, prefix: *prefix };
                match value {
                    Value::Absent => self.netlink.delete_address(address).map_err(fail),
                    _ => {
                        self.netlink.add_address(address.index, address.address, address.prefix).map_err(fail)
                    }
                }
            }
            (Key::Neighbour { interface, address }, value) => {
                let index = self.index(interface)?;
                match value {
                    Value::Mac(mac) => self.netlink.set_neighbour(index, *address, mac.0).map_err(fail),
                    _ => self.netlink.delete_neighbour(index, *address).map_err(fail),
                }
            }
            (Key::GsoMaxSegs { interface }, Value::Number(frames)) => {
                let index = self.index(interface)?;
                self.netlink.set_gso_max_segs(index, *frames).map_err(fail)
            }
            (Key::Coalescing { interface }, Value::Coalescing(wanted)) => {
                self.write_coalescing(interface, *wanted)
            }
            (Key::NapiDelay { interface }, Value::NapiDelay(wanted)) => {
                self.write_napi_delay(interface, wanted)
            }
            (Key::Clsact { interface }, value) => self.write_clsact(interface, value),
            (Key::Striping, value) => self.write_striping(value),
            (Key::Sysctl { path }, Value::Text(text)) => self.write_sysctl(path, text),
            (Key::Route { destination }, value) => self.write_route(*destination, value),
            (Key::File { path }, value) => write_file(&self.host, path, value),
            (Key::Symlink { path }, value) => write_link(&self.host, path, value),
            _ => Ok(()),
        }
    }

    fn write_interface(&mut self, interface: &str, value: &Value) -> Result<(), HostError> {
        let fail = self.fail();
        if *value == Value::Absent {
            let index = self.index(interface)?;
            self.netlink.delete_link(index).map_err(fail)?;
        } else {
            identity::ensure(&mut self.netlink).map_err(fail)?;
        }
        self.refresh_links()
    }

    fn write_clsact(&mut self, interface: &str, value: &Value) -> Result<(), HostError> {
        let fail = self.fail();
        let index = self.index(interface)?;
        if *value != Value::Absent {
            return self.netlink.add_clsact(index).map_err(fail);
        }
        // If others have filters there since, the clsact qdisc stays, with these in it.
        if self.has_others_filters(interface)? {
            return Ok(());
        }
        self.netlink.delete_clsact(index).map_err(fail)
    }

    /// Whether the clsact qdisc of an interface has filters, of either way and any kind, besides Tasuki's
    /// program.
    pub fn has_others_filters(&mut self, interface: &str) -> Result<bool, HostError> {
        let Some(index) = self.links.get(interface).map(|link| link.index) else { return Ok(false) };
        let filters = self.netlink.clsact_filters(index).map_err(self.fail())?;
        let is_ours = |filter: &Filter| {
            filter.is_egress && filter.kind == "bpf" && filter.priority == tasuki_stripe::PRIORITY
        };
        Ok(!filters.iter().all(is_ours))
    }

    fn write_striping(&mut self, value: &Value) -> Result<(), HostError> {
        let done = match value {
            Value::Striping(StripingValue { sum: Some(sum), plan: Some(plan) }) => {
                tasuki_stripe::install(&mut self.netlink, plan, *sum)
            }
            _ => tasuki_stripe::remove(&mut self.netlink),
        };
        done.map_err(|source| HostError::Striping { host: self.host.clone(), source })
    }

    fn write_sysctl(&self, path: &str, value: &str) -> Result<(), HostError> {
        let path = sysctl_file(path);
        fs::write(&path, value).map_err(|source| HostError::Sysctl {
            host: self.host.clone(),
            path,
            value: value.into(),
            source,
        })
    }

    fn write_route(&mut self, destination: Ipv4Addr, value: &Value) -> Result<(), HostError> {
        let fail = self.fail();
        match value {
            Value::Route(RouteValue { source, hops }) => {
                let gateway = |hop: &crate::Hop| {
                    Ok(Gateway { index: self.index(&hop.interface)?, via: hop.via, weight: hop.weight })
                };
                let gateways = hops.iter().map(gateway).collect::<Result<_, HostError>>()?;
                let route = Route { destination, source: *source, gateways };
                self.netlink.set_route(&route).map_err(fail)
            }
            Value::OtherRoute { message } => {
                let saved = bytes(message).and_then(|bytes| SavedRoute::from_bytes(&bytes));
                let saved =
                    saved.ok_or_else(|| HostError::SavedRoute { host: self.host.clone(), destination })?;
                self.netlink.restore_route(&saved).map_err(fail)
            }
            _ => self.netlink.delete_route(destination).map_err(fail),
        }
    }
}

/// Bytes from hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}
