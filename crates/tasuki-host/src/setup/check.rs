//! Checks that are made before anything is changed.

use super::Mode;
use crate::{
    Change, HostError, Key, Value, Wanted,
    kernel::{Kernel, sysctl_file},
};
use nix::unistd::{AccessFlags, access};
use std::{
    fs,
    path::{Path, PathBuf},
};
use tasuki_cluster::{IDENTITY_INTERFACE, MacAddr};
use tasuki_sys::netlink::Link;

/// Compares cabled NICs with those that exist: names, MTU, MAC addresses. Returns all problems at once.
pub fn interfaces(host: &str, kernel: &Kernel, wanted: &Wanted) -> Vec<String> {
    let mut problems = Vec::new();
    for (interface, mtu) in wanted.plan.cabled() {
        let owned = || host.to_owned();
        let link = match kernel.link(interface) {
            Ok(link) => link,
            Err(error) => {
                problems.push(error.to_string());
                continue;
            }
        };
        let [least, most] = link.mtu_range;
        if mtu < least || (most > 0 && mtu > most) {
            let interface = interface.to_owned();
            problems.push(HostError::Mtu { host: owned(), interface, mtu, least, most }.to_string());
        }
        let expected = wanted.macs.iter().find(|(name, _)| name == interface).map(|(_, mac)| *mac);
        problems.extend(other_nic(host, interface, link, expected).map(|other| other.to_string()));
    }
    problems
}

/// The error for a NIC that has another MAC address than the cluster file gives it: it is another NIC.
pub(crate) fn other_nic(
    host: &str,
    interface: &str,
    link: &Link,
    planned: Option<MacAddr>,
) -> Option<HostError> {
    let (planned, actual) = (planned?, MacAddr(link.mac?));
    let (host, interface) = (host.to_owned(), interface.to_owned());
    (planned != actual).then_some(HostError::Mac { host, interface, actual, planned })
}

/// Finds settings that the kernel does not have, or that cannot be written here.
pub fn settings(host: &str, changes: &[Change], mode: Mode) -> Vec<String> {
    let problem = |change: &Change| {
        let Key::Sysctl { path } = &change.key else { return None };
        if change.from == Value::Absent && change.key.interface() == Some(IDENTITY_INTERFACE) {
            // The setting comes with the interface, which is made before it is set.
            return None;
        }
        if change.from == Value::Absent {
            return Some(HostError::NoSetting { host: host.into(), path: path.clone() }.to_string());
        }
        let file = sysctl_file(path);
        match access(&file, AccessFlags::W_OK) {
            Err(errno) if mode != Mode::Show => {
                let (host, value) = (host.to_owned(), change.to.to_string());
                Some(HostError::Sysctl { host, path: file, value, source: errno.into() }.to_string())
            }
            _ => None,
        }
    };
    changes.iter().filter_map(problem).collect()
}

/// Finds files and links that cannot be written, made or removed here.
pub fn files(host: &str, changes: &[Change], mode: Mode) -> Vec<String> {
    if mode == Mode::Show {
        return Vec::new();
    }
    let problem = |change: &Change| {
        let place = written_place(change)?;
        let errno = access(&place, AccessFlags::W_OK).err()?;
        let host = host.to_owned();
        Some(HostError::File { host, doing: "write", path: place, source: errno.into() }.to_string())
    };
    changes.iter().filter_map(problem).collect()
}

/// What must be writable for a change of a file or link: the file, if it is there and stays, or else the
/// nearest folder that is there.
fn written_place(change: &Change) -> Option<PathBuf> {
    let path = match &change.key {
        // A file that is a link is written where it leads.
        Key::File { path } => path.canonicalize().unwrap_or_else(|_| path.clone()),
        Key::Symlink { path } => path.clone(),
        _ => return None,
    };
    if matches!(change.key, Key::File { .. }) && change.to != Value::Absent && path.exists() {
        return Some(path);
    }
    path.ancestors().skip(1).find(|folder| folder.exists()).map(Path::to_path_buf)
}

/// What the user should know before agreeing to the changes.
pub fn notes(kernel: &Kernel, wanted: &Wanted, changes: &[Change]) -> Vec<String> {
    let mut notes = Vec::new();
    for link in &wanted.plan.links {
        let others = kernel.addresses_of(&link.interface);
        let others = others.into_iter().filter(|&other| other != (link.address, link.prefix));
        let others: Vec<_> = others.map(|(address, prefix)| format!("{address}/{prefix}")).collect();
        if !others.is_empty() {
            notes.push(format!("{} has {} besides; left alone", link.interface, others.join(", ")));
        }
    }
    for nic in &wanted.plan.bare {
        let has = kernel.addresses_of(&nic.interface).into_iter();
        let has: Vec<_> = has.map(|(address, prefix)| format!("{address}/{prefix}")).collect();
        if !has.is_empty() {
            notes.push(format!(
                "{} has {}, although the file says ip = false; left alone",
                nic.interface,
                has.join(", ")
            ));
        }
    }
    notes.extend(changes.iter().filter_map(|change| loosened(wanted, change)));
    notes
}

/// A note on a setting for all interfaces that was stricter for interfaces outside of the cluster than their
/// own setting is.
fn loosened(wanted: &Wanted, change: &Change) -> Option<String> {
    let Key::Sysctl { path } = &change.key else { return None };
    let name = path.strip_prefix("net/ipv4/conf/all/")?;
    let entries = fs::read_dir(sysctl_file("net/ipv4/conf")).ok()?.flatten();
    let interfaces = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_ours = |interface: &str| {
        ["all", "default", "lo", IDENTITY_INTERFACE].contains(&interface)
            || wanted.plan.cabled().any(|(cabled, _)| cabled == interface)
    };
    let differs = |interface: &String| {
        let own = fs::read_to_string(sysctl_file(&format!("net/ipv4/conf/{interface}/{name}")));
        own.is_ok_and(|own| Value::Text(own.trim_end().into()) != change.from)
    };
    let mut others: Vec<_> = interfaces.filter(|interface| !is_ours(interface)).filter(differs).collect();
    others.sort_unstable();
    (!others.is_empty()).then(|| {
        let (path, from, to) = (path, &change.from, &change.to);
        format!(
            "{path} goes from {from} to {to}, so that these follow their own setting: {}",
            others.join(", ")
        )
    })
}
