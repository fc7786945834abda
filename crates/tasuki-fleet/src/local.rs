//! This machine.

use nix::{ifaddrs::getifaddrs, sys::socket::SockaddrStorage, unistd::gethostname};
use std::{
    ffi::OsStr,
    net::{IpAddr, Ipv4Addr, ToSocketAddrs},
    process::Command,
};

/// The name of this machine without its domain.
pub fn host_name() -> String {
    let name = gethostname().unwrap_or_default();
    let name = name.to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// Whether an address or name is one of this machine's. A name that cannot be resolved, such as an alias of
/// ssh's configuration, may be: it is not taken for another machine's.
pub(crate) fn leads_here(address: &str) -> bool {
    let Ok(mut found) = (address, 0).to_socket_addrs() else { return true };
    let Ok(interfaces) = getifaddrs() else { return true };
    let own: Vec<IpAddr> = interfaces.filter_map(|interface| ip(&interface.address?)).collect();
    found.any(|address| address.ip().is_loopback() || own.contains(&address.ip()))
}

/// Whether a name, or an address, leads to this address.
pub(crate) fn leads_to(name: &str, address: Ipv4Addr) -> bool {
    (name, 0).to_socket_addrs().is_ok_and(|mut found| found.any(|found| found.ip() == address))
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

/// A command that runs this very program again, on this machine.
pub fn this_program(argv: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(argv);
    command
}
