//! What can be wrong with a cluster file, and what to do about it.

use crate::{Delay, MacAddr, PlanError};
use std::ops::RangeInclusive;
use thiserror::Error;

/// What is wrong at one place of a cluster file. [`Problem::help`] says what to do.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file could not be read.
    #[error("cannot read the file: {0}")]
    Read(String),
    /// A byte that cannot be at this place of a text in UTF-8.
    #[error("not UTF-8: the byte {0:#04x}")]
    NotUtf8(u8),
    /// The file is not TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// There is no host.
    #[error("the file has no host")]
    NoHosts,
    /// A key that has no meaning here.
    #[error("unknown key {key:?}")]
    UnknownKey {
        /// The key.
        key: String,
        /// The key that may be meant.
        near: Option<&'static str>,
        /// All keys that have a meaning here.
        known: Vec<&'static str>,
    },
    /// A required key is missing.
    #[error("the key {key:?} is missing")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A value is of the wrong type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What it should be, with an example.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A text is not a rate, MAC address or network.
    #[error("{0}")]
    BadValue(String),
    /// A text cannot be what ssh or SNMP needs: an address, a user, a port, a jump host, names of interfaces.
    #[error("{reason}")]
    BadSsh {
        /// What is wrong.
        reason: String,
        /// What to write.
        advice: &'static str,
    },
    /// A free text has a character that would act on a terminal or in a file.
    #[error("the text has the control character {0:?}")]
    ControlCharacter(char),
    /// A number is out of range.
    #[error("{value} is out of range")]
    OutOfRange {
        /// The number as written.
        value: String,
        /// The range.
        range: RangeInclusive<u32>,
    },
    /// A length is negative, or not a number.
    #[error("a cable cannot be {0} m long")]
    BadLength(String),
    /// A name breaks the rules.
    #[error("bad name {name:?} of a {of}: {reason}")]
    BadName {
        /// What has the name: cluster, host, switch or NIC.
        of: &'static str,
        /// The name.
        name: String,
        /// The rule.
        reason: String,
    },
    /// A name is used for another host or switch already.
    #[error("the name {name:?} is taken")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// A host has two NICs of the same name.
    #[error("host {host} has two NICs called {nic:?}")]
    DuplicateNic {
        /// The host.
        host: String,
        /// The name.
        nic: String,
    },
    /// Two NICs have the same MAC address.
    #[error("{nic} has the MAC address {mac}, which {other} has already")]
    DuplicateMac {
        /// The NIC.
        nic: String,
        /// The address.
        mac: MacAddr,
        /// The other NIC.
        other: String,
    },
    /// A MAC address is one that no NIC can have.
    #[error("{mac} is {kind}, which no NIC can have as its own")]
    BadMac {
        /// The address.
        mac: MacAddr,
        /// What kind of address it is.
        kind: &'static str,
    },
    /// The end of a cable is neither `host:nic`, `switch:port` nor `switch`.
    #[error("{end:?} names no end of a cable: {reason}")]
    EndSyntax {
        /// The end.
        end: String,
        /// Why not.
        reason: String,
    },
    /// There is no host or switch of that name.
    #[error("the cable leads to {end:?}, but there is no host or switch {name:?}")]
    NoSuchPlace {
        /// The end.
        end: String,
        /// The name.
        name: String,
        /// The name that may be meant.
        near: Option<String>,
    },
    /// The host has no NIC of that name.
    #[error("the cable leads to {end:?}, but host {host} has no NIC {nic:?}")]
    NoSuchNic {
        /// The end.
        end: String,
        /// The host.
        host: String,
        /// The name.
        nic: String,
        /// The name that may be meant.
        near: Option<String>,
        /// The NICs that the host has.
        present: String,
    },
    /// The switch has no port of that number.
    #[error("the cable leads to {end:?}, but switch {switch} has no port {port:?}")]
    NoSuchPort {
        /// The end.
        end: String,
        /// The switch.
        switch: String,
        /// The port as written.
        port: String,
        /// Number of ports.
        ports: u32,
    },
    /// The switch has more cables than ports.
    #[error("switch {switch} has no free port: more cables lead to it than its {ports}")]
    NoFreePort {
        /// The switch.
        switch: String,
        /// Number of ports.
        ports: u32,
    },
    /// Two cables are in one port or NIC.
    #[error("{end} has a cable already")]
    EndUsed {
        /// The end.
        end: String,
    },
    /// Both ends of a cable are at the same host.
    #[error("both ends of the cable are at {at}")]
    SamePlace {
        /// The host, or the NIC.
        at: String,
    },
    /// NICs on one cable or switch domain have different MTUs.
    #[error("{nic} has MTU {mtu}, but {other}, on the same {on}, has {other_mtu}")]
    UnequalMtu {
        /// The NIC.
        nic: String,
        /// Its MTU.
        mtu: u32,
        /// Another NIC on it.
        other: String,
        /// The MTU of that NIC.
        other_mtu: u32,
        /// What they are on: a cable or switch domain.
        on: String,
    },
    /// `[striping]` names a NIC that no host has, or a host that does not exist.
    #[error("there is no {of} {name:?}")]
    NoneOfThatName {
        /// What is named: host or NIC.
        of: &'static str,
        /// The name.
        name: String,
        /// The name that may be meant.
        near: Option<String>,
    },
    /// NICs that are striped over have different MTUs.
    #[error("striping from {host} to {peer} would mix MTUs: {nic} has {mtu}, {other} has {other_mtu}")]
    StripedMtu {
        /// A host.
        host: String,
        /// Another.
        peer: String,
        /// A NIC of the first.
        nic: String,
        /// Its MTU.
        mtu: u32,
        /// Another of its NICs.
        other: String,
        /// The MTU of that NIC.
        other_mtu: u32,
    },
    /// No two hosts have two rails to each other.
    #[error("there is nothing to stripe over: no two hosts share two cables or switches{0}")]
    NothingToStripe(&'static str),
    /// Striping needs addresses that belong to hosts, and here they belong to cables.
    #[error("striping needs one address per host, and `addresses = \"subnets\"` gives every cable its own")]
    StripedSubnets,
    /// Bounds in `[tune]` apply to no NIC.
    #[error("least and most are for delays that follow the load, and none here is \"dynamic\"")]
    NothingDynamic,
    /// Bounds in `[tune]` leave nothing to choose.
    #[error("the shortest delay is {least} and the longest {most}: there is nothing to choose")]
    NoDelayBetween {
        /// The shortest delay.
        least: Delay,
        /// The longest delay.
        most: Delay,
    },
    /// Switches are cabled in a loop.
    #[error("this cable closes a loop of switches: {}", path.join(" - "))]
    Loop {
        /// The switches, the first again at the end.
        path: Vec<String>,
    },
    /// No path leads from some hosts to a host.
    #[error("{host} cannot be reached from {from}")]
    Unreachable {
        /// The host.
        host: String,
        /// The hosts that cannot reach it.
        from: String,
        /// What could be done.
        advice: String,
    },
    /// The address ranges are too small or overlap.
    #[error("{0}")]
    Addresses(PlanError),
}

impl Problem {
    /// What to do about the problem.
    pub fn help(&self) -> String {
        let did_you_mean =
            |near: &Option<String>| near.as_ref().map(|near| format!("did you mean {near:?}?"));
        match self {
            Self::Read(_) => {
                "name a readable cluster file; `tasuki cluster new full:4 -o my.toml` writes one".into()
            }
            Self::NotUtf8(_) => "save the file as UTF-8, as by: iconv -f latin1 -t utf-8".into(),
            Self::Syntax(_) => {
                "cluster.toml(5) has every key, and `tasuki cluster new full:4` prints a file".into()
            }
            Self::NoHosts => "add a [[host]] with a name and NICs".into(),
            Self::UnknownKey { near: Some(near), .. } => format!("did you mean {near:?}?"),
            Self::UnknownKey { known, .. } => format!("keys here are {}", known.join(", ")),
            Self::MissingKey { key } => format!("add {key} = {}", example(key)),
            Self::WrongType { expected, .. } => format!("write {expected}"),
            Self::BadSsh { advice, .. } => (*advice).into(),
            Self::ControlCharacter(_) => "remove it: the text stands in tables, pages and reports".into(),
            Self::BadValue(_) => "correct the value, or leave the key out for the default".into(),
            Self::OutOfRange { range, .. } => {
                format!("write a number from {} to {}", range.start(), range.end())
            }
            Self::BadLength(_) => "write the length in metres, as 1.5, or leave it out".into(),
            Self::BadName { of, .. } => name_rule(of).into(),
            Self::DuplicateName { .. } => "give every host and switch a name of its own".into(),
            Self::DuplicateNic { .. } => "give every NIC the name that its interface has on the host".into(),
            Self::DuplicateMac { .. } => "`ip link` on the host shows the NIC's address".into(),
            Self::BadMac { .. } => "`ip link` on the host shows the NIC's address; or leave it out".into(),
            Self::EndSyntax { .. } => "write host:nic, switch:port or switch (its next free port)".into(),
            Self::NoSuchPlace { near, .. } => {
                did_you_mean(near).unwrap_or_else(|| "add the host or switch, or correct the name".into())
            }
            Self::NoSuchNic { near, present, .. } => {
                did_you_mean(near).unwrap_or_else(|| format!("the host has {present}"))
            }
            Self::NoSuchPort { switch, ports, .. } => {
                format!("ports are {switch}:1 to {switch}:{ports}; {switch} alone is its next free port")
            }
            Self::NoFreePort { .. } => "raise `ports`, or remove a cable".into(),
            Self::EndUsed { .. } => "a NIC or port takes one cable: plug one of the two in elsewhere".into(),
            Self::SamePlace { .. } => "a cable joins two hosts, or a host and a switch".into(),
            Self::UnequalMtu { other_mtu, .. } => {
                format!("give all NICs that reach each other the same mtu, as {other_mtu}")
            }
            Self::NoneOfThatName { near, of, .. } => did_you_mean(near)
                .unwrap_or_else(|| format!("write the name of a {of} of this file, or leave it out")),
            Self::StripedMtu { other_mtu, .. } => format!(
                "give the NICs of a pair the same mtu, as {other_mtu}, or list those that take part: nics = \
                 [...]"
            ),
            Self::StripedSubnets => "remove [striping], or `addresses`".into(),
            Self::NothingToStripe(_) => "add cables, or remove [striping]".into(),
            Self::NothingDynamic => "remove them, or write delay = \"dynamic\"".into(),
            Self::NoDelayBetween { .. } => {
                "write a shorter least, or a longer most (default: off to 500us)".into()
            }
            Self::Loop { .. } => "remove the cable: frames would circle, no spanning tree is assumed".into(),
            Self::Unreachable { advice, .. } => advice.clone(),
            Self::Addresses(error) => addresses_help(error).into(),
        }
    }
}

/// An example of a required key.
fn example(key: &str) -> &'static str {
    match key {
        "ports" => "8",
        "ends" => "[\"n1:eth1\", \"sw1:1\"]",
        _ => "\"...\"",
    }
}

fn name_rule(of: &str) -> &'static str {
    match of {
        "NIC" => "write the name that `ip link` shows: 1 to 15 letters, digits, hyphens, dots or underscores",
        "cluster" => "write 1 to 40 letters, digits, hyphens, dots or underscores, a letter or digit first",
        _ => "write 1 to 63 letters, digits or hyphens, as n1 (RFC 1123)",
    }
}

fn addresses_help(error: &PlanError) -> &'static str {
    match error {
        PlanError::TooManyHosts { .. } => {
            "write a larger range, as identity = \"10.77.0.0/16\" (at most 65534 hosts)"
        }
        PlanError::TooManyNics { .. } => "write a larger range, as link = \"10.78.0.0/16\"",
        PlanError::Overlap { .. } => {
            "write ranges that meet no other network, as 10.77.0.0/16 and 10.78.0.0/16"
        }
        PlanError::TooManySubnets { .. } => {
            "write a larger range, as link = \"10.78.0.0/16\": a cable takes four addresses"
        }
        PlanError::NoCommonSubnet { .. } => {
            "cable the two, or leave `addresses` out: hosts with identity addresses relay"
        }
        PlanError::TwoInOneSubnet { .. } => {
            "give each NIC of a host a switch of its own, or leave `addresses` out"
        }
        PlanError::Unreachable { .. } => "cable the two, directly, by a switch or by relaying hosts",
    }
}

/// The kinds of address that no NIC has.
pub(super) fn check_mac(mac: MacAddr) -> Result<(), Problem> {
    match mac {
        _ if mac.is_zero() => Err(Problem::BadMac { mac, kind: "all zero" }),
        _ if mac.is_multicast() => Err(Problem::BadMac { mac, kind: "a group address" }),
        _ => Ok(()),
    }
}
