//! How `ssh` reaches hosts: addresses, users, ports and jump hosts, checked so that none of them can be taken
//! for an option of ssh, for a part of a command line or for a part of a file's path.

mod check;
mod through;

pub(crate) use check::{BadSsh, bad, check_address, split_port};
pub use through::through;

use check::{ADDRESS_RULE, JUMP_RULE, JUMPS_MAX, PORT_RULE, check_jump, check_user, has_port, split_user};
use serde::{Serialize, Serializer};
use std::{fmt, str::FromStr};

/// Where a host's sshd is: `address` or `user@address`, as `management` in a cluster file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshAddress {
    user: Option<String>,
    address: String,
}

impl SshAddress {
    /// The user, if the text names one.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// A host name, an alias of ssh's own configuration, an IPv4 address, or an IPv6 address that may have a
    /// zone.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl fmt::Display for SshAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.user {
            Some(user) => write!(f, "{user}@{}", self.address),
            None => f.write_str(&self.address),
        }
    }
}

impl Serialize for SshAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl SshAddress {
    pub(crate) fn parse(text: &str) -> Result<Self, BadSsh> {
        if text.contains("://") {
            return Err(bad(format!("{text:?} is a URI"), ADDRESS_RULE));
        }
        let (user, address) = split_user(text)?;
        if let Err(problem) = check_address(address) {
            return Err(if has_port(address) {
                bad(format!("{text:?} has a port in it"), PORT_RULE)
            } else {
                problem
            });
        }
        Ok(Self { user: user.map(str::to_owned), address: address.to_owned() })
    }
}

macro_rules! from_text {
    ($($name:ident),*) => {$(
        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::parse(text).map_err(|BadSsh { reason, advice }| format!("{reason}; {advice}"))
            }
        }
    )*};
}

from_text!(SshAddress, SshUser, SshJump);

/// A name of a user for ssh's `-l`, checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SshUser(String);

impl SshUser {
    pub(crate) fn parse(text: &str) -> Result<Self, BadSsh> {
        check_user(text).map(|()| Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Hosts that ssh connects through, for its `-J`: `[user@]address[:port]`, several with commas between; or
/// `none`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SshJump(String);

impl SshJump {
    pub(crate) fn parse(text: &str) -> Result<Self, BadSsh> {
        if text != "none" {
            let jumps: Vec<&str> = text.split(',').collect();
            if jumps.len() > JUMPS_MAX {
                return Err(bad(format!("{} jump hosts, {JUMPS_MAX} are the most", jumps.len()), JUMP_RULE));
            }
            jumps.into_iter().try_for_each(check_jump)?;
        }
        Ok(Self(text.to_owned()))
    }

    /// As `ssh -J` takes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How ssh reaches a host, besides its address: the table `[ssh]` for all hosts, `ssh = { ... }` for one.
/// What is absent is left to ssh's own configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SshOptions {
    /// The user to log in as.
    pub user: Option<SshUser>,
    /// The port that sshd listens on.
    pub port: Option<u16>,
    /// Hosts to connect through.
    pub jump: Option<SshJump>,
}

impl SshOptions {
    /// Whether no option is given.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Everything that ssh must be told to reach a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SshTarget<'a> {
    /// Host name or address.
    pub address: &'a str,
    /// The user; `None`: ssh's own choice.
    pub user: Option<&'a str>,
    /// The port; `None`: ssh's own choice.
    pub port: Option<u16>,
    /// Jump hosts, as for `ssh -J`; `None`: ssh's own choice.
    pub jump: Option<&'a str>,
}

impl fmt::Display for SshTarget<'_> {
    /// Writes the target as one would type it behind `ssh`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(port) = self.port {
            write!(f, "-p {port} ")?;
        }
        if let Some(jump) = self.jump {
            write!(f, "-J {jump} ")?;
        }
        match self.user {
            Some(user) => write!(f, "{user}@{}", self.address),
            None => f.write_str(self.address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Result<(Option<String>, String), String> {
        SshAddress::parse(text).map(|found| (found.user, found.address)).map_err(|problem| problem.reason)
    }

    #[test]
    fn addresses_as_ssh_knows_them() {
        for (text, user, host) in [
            ("n1", None, "n1"),
            ("192.168.1.11", None, "192.168.1.11"),
            ("me@n1.example.org", Some("me"), "n1.example.org"),
            ("rack_2-n1", None, "rack_2-n1"),
            ("::1", None, "::1"),
            ("root@fe80::1%eth0", Some("root"), "fe80::1%eth0"),
            ("alice@corp.example@n1", Some("alice@corp.example"), "n1"),
        ] {
            let found = address(text).expect(text);
            assert_eq!(found, (user.map(str::to_owned), host.to_owned()), "{text}");
            assert_eq!(SshAddress::parse(text).expect(text).to_string(), text);
        }
    }

    #[test]
    fn a_port_is_told_where_it_belongs() {
        for text in ["n1:2222", "me@192.168.1.11:22", "[::1]:22", "[fe80::1%eth0]:22"] {
            let problem = SshAddress::parse(text).expect_err(text);
            assert!(problem.reason.contains("has a port") && problem.advice == PORT_RULE, "{problem:?}");
        }
        for text in ["ssh://n1:22", "ssh://n1"] {
            assert!(address(text).expect_err(text).contains("URI"));
        }
    }

    #[test]
    fn what_ssh_or_a_shell_would_take_for_something_else_is_refused() {
        for text in [
            "",
            "-oProxyCommand=id",
            "--",
            "-",
            "@n1",
            "me@",
            "me@-oProxyCommand=id",
            "-l@n1",
            "n1 -oX",
            "n1;id",
            "$(id)",
            "`id`",
            "n1\n",
            "n1\0",
            "\u{1b}[31mn1",
            "../n1",
            ".ssh",
            "a/b",
            "n1%eth0",
            "::1%",
            "::1%a b",
            "1:2:3",
            "n1:port",
            "[::1]",
            "ä",
            "n1\\",
            "n1'",
            "\"n1\"",
            "*",
            "me me@n1",
            "me;id@n1",
            "me\\x@n1",
            "$me@n1",
        ] {
            assert!(address(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn jump_hosts() {
        for text in [
            "none",
            "gw",
            "me@gw",
            "me@gw:2222",
            "gw,other:22",
            "[::1]:22",
            "::1",
            "me@[fe80::1%eth0]:22",
            "[::1]",
        ] {
            assert_eq!(SshJump::parse(text).expect(text).as_str(), text);
        }
        for text in [
            "",
            ",",
            "gw,",
            "-oProxyCommand=id",
            "gw,-oProxyCommand=id",
            "gw:0",
            "gw:65536",
            "gw:+22",
            "gw:",
            "[::1",
            "[::1]22x",
            "gw:22;id",
            "gw none",
            "a,b,c,d,e,f,g,h,i",
            "-l@gw",
        ] {
            assert!(SshJump::parse(text).is_err(), "{text:?}");
        }
    }
}
