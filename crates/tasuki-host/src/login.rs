//! The interface by which the user is logged in: a change to it could lock the user out.

use crate::{Change, HostError, Key, kernel::Kernel};
use nix::ifaddrs::getifaddrs;
use std::{collections::BTreeMap, fs, net::IpAddr};

/// Interfaces that carry the login, each with how that is known, and the address that the user is at.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Login {
    interfaces: BTreeMap<String, String>,
    client: Option<IpAddr>,
}

/// Reads `SSH_CONNECTION` (ssh(1)): the client's address and port, the server's address and port.
fn parse(variable: &str) -> Option<(IpAddr, IpAddr)> {
    let words: Vec<&str> = variable.split_whitespace().collect();
    let [client, _, server, _] = words[..] else { return None };
    // A link-local address names its interface too.
    let address = |word: &str| word.split('%').next().and_then(|bare| bare.parse().ok());
    Some((address(client)?, address(server)?))
}

/// The connection by `SSH_CONNECTION` of this process or, because `sudo` removes it, of the nearest parent
/// process that has it.
fn connection() -> Option<(IpAddr, IpAddr)> {
    if let Ok(variable) = std::env::var("SSH_CONNECTION") {
        return parse(&variable);
    }
    let mut pid = nix::unistd::getppid().as_raw();
    // There are no longer chains of parents; the limit is for a table that changes while it is read.
    for _ in 0..64 {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let entries = environment.split(|&byte| byte == 0);
        let found = entries.filter_map(|entry| entry.strip_prefix(b"SSH_CONNECTION=")).next();
        if let Some(found) = found.and_then(|value| std::str::from_utf8(value).ok()) {
            return parse(found);
        }
        pid = parent(pid).filter(|&parent| parent > 0)?;
    }
    None
}

fn parent(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// The interface that carries an address of this host.
fn carrier(address: IpAddr) -> Option<String> {
    let own = getifaddrs().ok()?;
    let ip = |storage: nix::sys::socket::SockaddrStorage| {
        let four = storage.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
        four.or_else(|| storage.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())))
    };
    own.into_iter().find(|own| own.address.and_then(ip) == Some(address)).map(|own| own.interface_name)
}

/// The interfaces that a bridge, VLAN or bond consists of.
fn below(interface: &str) -> Vec<String> {
    let entries = fs::read_dir(format!("/sys/class/net/{interface}")).into_iter().flatten().flatten();
    let lower = |entry: fs::DirEntry| Some(entry.file_name().to_str()?.strip_prefix("lower_")?.to_owned());
    entries.filter_map(lower).collect()
}

/// The interfaces of this host that carry the login of this process's user, each with how that is known. None
/// if the user is not logged in over the network.
///
/// # Errors
/// If the kernel does not say by which interface the user's machine is reached.
pub fn login_interfaces(host: &str) -> Result<BTreeMap<String, String>, HostError> {
    Ok(Login::find(&mut Kernel::open(host)?)?.interfaces)
}

impl Login {
    /// Finds out how the user of this process is logged in. A connection whose end is not an address of this
    /// host belongs to another machine (or network namespace), and does not count.
    pub fn find(kernel: &mut Kernel) -> Result<Self, HostError> {
        let Some((client, server)) = connection() else { return Ok(Self::default()) };
        let Some(first) = carrier(server) else { return Ok(Self::default()) };
        let mut login = Self { client: Some(client), ..Self::default() };
        login.add(first, format!("it carries {server}, where ssh from {client} ends"));
        if let Some(interface) = kernel.interface_to(client)? {
            login.add(interface, format!("it leads to {client}, where you come from"));
        }
        Ok(login)
    }

    fn add(&mut self, interface: String, why: String) {
        if self.interfaces.contains_key(&interface) {
            return;
        }
        let lower = below(&interface);
        for lower in lower {
            self.add(lower, format!("{interface} is on it; {why}"));
        }
        self.interfaces.insert(interface, why);
    }

    /// The first change that touches the login, with the interface and the reason.
    pub fn touched_by<'a>(&'a self, changes: &'a [Change]) -> Option<(&'a Change, &'a str, &'a str)> {
        let leads_back = |change: &Change| match change.key {
            Key::Route { destination } => self.client == Some(IpAddr::V4(destination)),
            _ => false,
        };
        changes.iter().find_map(|change| {
            let named = change.key.interface().and_then(|name| self.interfaces.get_key_value(name));
            let named = named.or_else(|| self.interfaces.first_key_value().filter(|_| leads_back(change)));
            named.map(|(interface, why)| (change, interface.as_str(), why.as_str()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn the_variable_is_read_as_ssh_writes_it() {
        let four = parse("192.0.2.7 50122 198.51.100.2 22");
        assert_eq!(four, Some(("192.0.2.7".parse().unwrap(), "198.51.100.2".parse().unwrap())));
        let six = parse("fe80::1%eth0 50122 fe80::2%eth0 22");
        assert_eq!(six, Some(("fe80::1".parse().unwrap(), "fe80::2".parse().unwrap())));
        for bad in ["", "192.0.2.7", "a b c d", "1 2 3 4 5"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_what_carries_the_login_is_guarded() {
        let client: IpAddr = "192.0.2.7".parse().unwrap();
        let interfaces = BTreeMap::from([("eth0".to_owned(), "why".to_owned())]);
        let login = Login { interfaces, client: Some(client) };
        let change = |key| Change { key, from: Value::Absent, to: Value::Present };
        let mtu = |interface: &str| change(Key::Mtu { interface: interface.into() });
        let sysctl = |path: &str| change(Key::Sysctl { path: path.into() });
        let route = |to: &str| change(Key::Route { destination: to.parse().unwrap() });
        let free = [mtu("eth1"), sysctl("net/ipv4/conf/all/rp_filter"), route("192.0.2.8")];
        assert_eq!(login.touched_by(&free), None);
        for bad in [mtu("eth0"), sysctl("net/ipv4/conf/eth0/rp_filter"), route("192.0.2.7")] {
            let changes = [free[0].clone(), bad.clone()];
            assert_eq!(login.touched_by(&changes), Some((&bad, "eth0", "why")));
        }
    }
}
