//! How a switch is asked by SNMP: where its agent is, what it wants to be told, what interfaces are called.

use crate::ssh::{BadSsh, bad, check_address, split_port};
use serde::{Serialize, Serializer};
use std::{fmt, path::PathBuf, str::FromStr};

/// The port of SNMP agents (RFC 3417, section 3.1).
const DEFAULT_PORT: u16 = 161;
/// Longest name of an interface, bytes: that of `DisplayString` (RFC 2579).
const NAME_MAX: usize = 255;
/// What stands for the number of a port in names of interfaces.
const NUMBER: &str = "{}";

const ADDRESS_RULE: &str =
    "write where the switch answers SNMP, as \"192.168.1.2\", \"sw1.example.org:1161\" or \"[fd00::2]:161\"";
const NAMES_RULE: &str =
    "write a name as the switch has it, with {} for the number of the port, as \"Gi1/0/{}\"";

/// How a switch is asked by SNMP: the keys `management`, `community_file` and `interfaces`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SwitchAgent {
    /// Where its agent answers.
    #[serde(rename = "management")]
    pub address: AgentAddress,
    /// The name of a file in the folder of the cluster file that holds the community; `None`: it is "public".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub community_file: Option<PathBuf>,
    /// What its interfaces are called; `None`: as their numbers at the end of names tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interfaces: Option<InterfaceNames>,
}

/// Where the agent of a switch answers: `address` or `address:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentAddress {
    address: String,
    port: Option<u16>,
}

impl AgentAddress {
    pub(crate) fn parse(text: &str) -> Result<Self, BadSsh> {
        let explain = |problem: BadSsh| bad(problem.reason, ADDRESS_RULE);
        let (address, port) = split_port(text).map_err(explain)?;
        check_address(address).map_err(explain)?;
        Ok(Self { address: address.into(), port })
    }

    /// A host name or an address.
    pub fn host(&self) -> &str {
        &self.address
    }

    /// The port, by default 161.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(DEFAULT_PORT)
    }
}

impl fmt::Display for AgentAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) if self.address.contains(':') => write!(f, "[{}]:{port}", self.address),
            Some(port) => write!(f, "{}:{port}", self.address),
            None => f.write_str(&self.address),
        }
    }
}

impl Serialize for AgentAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What the interfaces of a switch's ports are called: a name in which `{}` stands for the port's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct InterfaceNames(String);

impl InterfaceNames {
    pub(crate) fn parse(text: &str) -> Result<Self, BadSsh> {
        let wrong = |reason: String| Err(bad(reason, NAMES_RULE));
        match text.matches(NUMBER).count() {
            1 => {}
            0 => return wrong(format!("{text:?} has no {NUMBER}, so all ports would be one interface")),
            _ => return wrong(format!("{text:?} has more than one {NUMBER}")),
        }
        if let Some(control) = text.chars().find(|c| c.is_control()) {
            return wrong(format!("the name has the control character {control:?}"));
        }
        if text.len() > NAME_MAX {
            return wrong(format!("the name has {} bytes, {NAME_MAX} are the most", text.len()));
        }
        Ok(Self(text.into()))
    }

    /// As the file has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of a port's interface.
    pub fn of(&self, port: u32) -> String {
        self.0.replacen(NUMBER, &port.to_string(), 1)
    }
}

impl FromStr for InterfaceNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text).map_err(|BadSsh { reason, advice }| format!("{reason}; {advice}"))
    }
}

impl FromStr for AgentAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text).map_err(|BadSsh { reason, advice }| format!("{reason}; {advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_a_port() {
        for (text, host, port) in [
            ("192.168.1.2", "192.168.1.2", 161),
            ("192.168.1.2:1161", "192.168.1.2", 1161),
            ("sw1.example.org", "sw1.example.org", 161),
            ("sw1:65535", "sw1", 65535),
            ("fd00::2", "fd00::2", 161),
            ("[fd00::2]:1161", "fd00::2", 1161),
            ("fe80::1%eth0", "fe80::1%eth0", 161),
            ("[fe80::1%eth0]:1", "fe80::1%eth0", 1),
        ] {
            let address = AgentAddress::parse(text).expect(text);
            assert_eq!((address.host(), address.port()), (host, port), "{text}");
            assert_eq!(address.to_string(), text);
        }
        for text in [
            "",
            ":161",
            "sw1:",
            "sw1:0",
            "sw1:65536",
            "sw1:+1",
            "a b",
            "-x",
            "me@sw1",
            "udp:sw1",
            "[::1",
            "sw1;id",
        ] {
            assert!(AgentAddress::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn names_have_one_number() {
        assert_eq!(InterfaceNames::parse("Gi1/0/{}").expect("names").of(12), "Gi1/0/12");
        let long = format!("{}{{}}", "a".repeat(NAME_MAX));
        for text in ["", "Gi1/0/1", "{}{}", "Gi{}/0/{}", "a\u{1b}{}", "{", "}", long.as_str()] {
            assert!(InterfaceNames::parse(text).is_err(), "{text:?}");
        }
    }
}
