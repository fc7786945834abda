//! The names by which a server may be asked.
//!
//! A page of another site can have that site's name lead to this machine (DNS rebinding): its browser then
//! takes the answers for those of the site, and lets the page read them. It says the name in `Host`, so what
//! is asked for by a name that nobody has given to this machine is not answered.

use crate::{Reply, Request};
use std::{fs, net::IpAddr};

/// What names of this machine are known by, besides the resolver's own.
const HOSTS_FILE: &str = "/etc/hosts";

/// What a request calls the server: the value of `Host` without its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host<'a> {
    /// An address, which no other site's name can lead to.
    Address(IpAddr),
    /// A name, which may be empty.
    Name(&'a str),
}

impl<'a> Host<'a> {
    /// Of the value of `Host`, which is `uri-host [ ":" port ]` (RFC 9110, section 7.2, and RFC 3986, section
    /// 3.2.2); `None`: it is none.
    pub fn parse(value: &'a str) -> Option<Self> {
        let (host, port) = match value.strip_prefix('[') {
            Some(rest) => {
                let (inside, port) = rest.split_once(']')?;
                (Self::Address(IpAddr::V6(inside.parse().ok()?)), port)
            }
            None => {
                let (name, port) = value.split_at(value.find(':').unwrap_or(value.len()));
                let address = name.parse().map(|address| Self::Address(IpAddr::V4(address)));
                (address.unwrap_or(Self::Name(name)), port)
            }
        };
        let is_name =
            |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "-._~%!$&'()*+,;=".contains(c));
        let digits = if port.is_empty() { "" } else { port.strip_prefix(':')? };
        let is_port = digits.is_empty()
            || (digits.bytes().all(|c| c.is_ascii_digit()) && digits.parse::<u16>().is_ok());
        let is_host = match host {
            Self::Address(_) => true,
            Self::Name(name) => is_name(name),
        };
        (is_host && is_port).then_some(host)
    }
}

/// The names by which a server may be asked.
#[derive(Clone, Debug, Default)]
pub struct Names {
    known: Vec<String>,
    is_everywhere: bool,
}

impl Names {
    /// Addresses, `localhost`, these names, and those that /etc/hosts gives to the loopback interface. Others
    /// are refused to those who come by the loopback interface: by which names other machines know this one
    /// is not known here.
    pub fn of_machine(names: impl IntoIterator<Item = String>) -> Self {
        // Without the file there are the other names.
        let file = fs::read_to_string(HOSTS_FILE).unwrap_or_default();
        Self { known: names.into_iter().chain(of_loopback(&file)).collect(), is_everywhere: false }
    }

    /// Refuses other names to everybody, whatever interface they come by.
    #[must_use]
    pub fn everywhere(self) -> Self {
        Self { is_everywhere: true, ..self }
    }

    /// Why a request that has come to an address of this machine is not answered.
    pub(crate) fn refuse(&self, request: &Request, to: IpAddr) -> Option<Reply> {
        match request.host() {
            Err(why) => Some(Reply::refusal(400, why)),
            Ok(None) => None,
            Ok(Some(host)) if self.allows(host, to) => None,
            Ok(Some(_)) => Some(Reply::refusal(
                421,
                "ask by an address, as localhost or by this machine's name: another name could be another \
                 site's, whose pages would read this (--name NAME allows one)",
            )),
        }
    }

    fn allows(&self, host: Host<'_>, to: IpAddr) -> bool {
        let Host::Name(name) = host else { return true };
        if !(self.is_everywhere || to.to_canonical().is_loopback()) {
            return true;
        }
        // A dot at its end makes a name one from the root of all names, and no other one.
        let name = name.strip_suffix('.').unwrap_or(name);
        let mut known = self.known.iter().map(String::as_str).chain(["localhost"]);
        !name.is_empty() && known.any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// The names that a file like /etc/hosts (hosts(5)) gives to addresses of the loopback interface.
fn of_loopback(file: &str) -> Vec<String> {
    let names = |line: &str| {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let is_loopback = words.next()?.parse::<IpAddr>().ok()?.is_loopback();
        is_loopback.then(|| words.map(str::to_owned).collect::<Vec<_>>())
    };
    file.lines().filter_map(names).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn hosts_are_names_and_addresses_with_or_without_a_port() {
        for (value, of) in [
            ("127.0.0.1:9466", "127.0.0.1"),
            ("10.1.2.3", "10.1.2.3"),
            ("[::1]:9466", "::1"),
            ("[::1]", "::1"),
            ("[2001:db8::7]:", "2001:db8::7"),
        ] {
            assert_eq!(Host::parse(value), Some(Host::Address(address(of))), "{value}");
        }
        // RFC 3986 lets a port, and a name, be empty.
        for (value, of) in [
            ("n1", "n1"),
            ("N1.example:80", "N1.example"),
            ("localhost:", "localhost"),
            ("", ""),
            (":80", ""),
        ] {
            assert_eq!(Host::parse(value), Some(Host::Name(of)), "{value}");
        }
        for wrong in [
            "localhost:x",
            "localhost:99999",
            "localhost:+1",
            "127.0.0.1:80:80",
            "::1",
            "[::1",
            "[::1]x",
            "[n1]",
            "[127.0.0.1]",
            "n1@evil.example",
            "n1/x",
            "n1 n2",
            "n1\\n2",
        ] {
            assert_eq!(Host::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn by_the_loopback_interface_other_names_than_this_machines_are_refused() {
        let names = Names { known: vec!["n1".into(), "n1.example.org".into()], is_everywhere: false };
        let allows = |names: &Names, host: &str, to: &str| {
            names.allows(Host::parse(host).expect("a host"), address(to))
        };
        let own = ["127.0.0.1", "10.1.2.3:80", "[::1]:9466", "LOCALHOST:1", "N1:80", "n1.example.org", "n1."];
        let foreign = [
            "evil.example",
            "127.0.0.1.evil.example:9466",
            "localhost.evil.example",
            "n10",
            "n1.evil",
            "",
            ".",
        ];
        for to in ["127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1"] {
            assert!(own.iter().all(|host| allows(&names, host, to)), "{to}");
            for host in foreign {
                assert!(!allows(&names, host, to), "{host} at {to}");
            }
        }
        // Other machines may have any name for this one.
        let strict = names.clone().everywhere();
        for to in ["10.1.2.3", "2001:db8::7"] {
            assert!(own.iter().chain(&foreign).all(|host| allows(&names, host, to)), "{to}");
            assert!(own.iter().all(|host| allows(&strict, host, to)), "{to}");
            assert!(!foreign.iter().any(|host| allows(&strict, host, to)), "{to}");
        }
    }

    #[test]
    fn names_of_the_loopback_interface_are_read_from_the_file_of_hosts() {
        let file = "127.0.0.1 localhost\n127.0.1.1\tn1.example.org n1 # the machine's\n# 127.0.0.1 no\n\
                    ::1 ip6-localhost\n10.0.0.2 n2\nnonsense\n\n127.0.0.1\n";
        assert_eq!(of_loopback(file), ["localhost", "n1.example.org", "n1", "ip6-localhost"]);
    }
}
