//! Checks of what ssh is given: users, addresses and jump hosts.

use std::net::Ipv6Addr;

/// Longest address, bytes: that of a host name (RFC 1123, section 2.1).
const ADDRESS_MAX: usize = 255;
/// Longest name of a user, bytes: more than any system allows, with room for a domain.
const USER_MAX: usize = 128;
/// Most jump hosts in a row.
pub(super) const JUMPS_MAX: usize = 8;

/// Why a text is not what ssh needs, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadSsh {
    pub(crate) reason: String,
    pub(crate) advice: &'static str,
}

pub(super) const ADDRESS_RULE: &str =
    "write a host name or an address, as \"192.168.1.11\", or user and address, as \"me@n1.example.org\"";
const USER_RULE: &str =
    "write a user's name: letters, digits, . _ - +, or name@domain; neither begins with a hyphen or dot";
pub(super) const JUMP_RULE: &str =
    "write jump hosts as ssh -J takes them: \"gateway\", \"me@gateway:2222\", \"first,second\", or \"none\"";
pub(super) const PORT_RULE: &str =
    "a port is a key of its own: ssh = { port = 2222 }, or [ssh] port = 2222 for all hosts";

pub(crate) fn bad(reason: impl Into<String>, advice: &'static str) -> BadSsh {
    BadSsh { reason: reason.into(), advice }
}

/// The user, and the address behind the last `@`: a user's name may hold one itself.
pub(super) fn split_user(text: &str) -> Result<(Option<&str>, &str), BadSsh> {
    match text.rsplit_once('@') {
        Some((user, address)) => check_user(user).map(|()| (Some(user), address)),
        None => Ok((None, text)),
    }
}

pub(super) fn check_user(name: &str) -> Result<(), BadSsh> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "._-+@".contains(c);
    if name.is_empty() {
        Err(bad("the user's name is empty", USER_RULE))
    } else if let Some(wrong) = name.chars().find(|&c| !is_good(c)) {
        Err(bad(format!("{wrong:?} cannot be in the name of a user"), USER_RULE))
    } else if let Some(part) = name.split('@').find(|part| part.is_empty() || part.starts_with(['-', '.'])) {
        // What stands behind an @ is a name as well: of a domain.
        Err(match part.get(..1) {
            Some(first) if part == name => {
                bad(format!("the user's name {name:?} begins with {first:?}"), USER_RULE)
            }
            Some(first) => {
                bad(format!("{part:?} of the user's name {name:?} begins with {first:?}"), USER_RULE)
            }
            None => bad(format!("the user's name {name:?} has nothing on one side of its @"), USER_RULE),
        })
    } else if name.len() > USER_MAX {
        Err(bad(format!("the user's name has {} bytes, {USER_MAX} are the most", name.len()), USER_RULE))
    } else {
        Ok(())
    }
}

pub(crate) fn check_address(text: &str) -> Result<(), BadSsh> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_zone = |zone: &str| !zone.is_empty() && zone.chars().all(is_good);
    if text.contains(':') {
        let (address, zone) =
            text.split_once('%').map_or((text, None), |(address, zone)| (address, Some(zone)));
        let is_v6 = address.parse::<Ipv6Addr>().is_ok() && zone.is_none_or(is_zone);
        return if is_v6 { Ok(()) } else { Err(bad(format!("{text:?} is no IPv6 address"), ADDRESS_RULE)) };
    }
    if text.is_empty() {
        Err(bad("the address is empty", ADDRESS_RULE))
    } else if text.starts_with(['-', '.']) {
        Err(bad(format!("the address {text:?} begins with {:?}", &text[..1]), ADDRESS_RULE))
    } else if let Some(wrong) = text.chars().find(|&c| !is_good(c)) {
        Err(bad(format!("{wrong:?} cannot be in an address"), ADDRESS_RULE))
    } else if text.len() > ADDRESS_MAX {
        Err(bad(format!("the address has {} bytes, {ADDRESS_MAX} are the most", text.len()), ADDRESS_RULE))
    } else {
        Ok(())
    }
}

/// Whether a text that is not an address would be one without its port: `n1:22`, `[::1]:22`.
pub(super) fn has_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(address, port)| {
        let address = address.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(address);
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && check_address(address).is_ok()
    })
}

/// Checks one jump host: `[user@]address[:port]`, where an IPv6 address with a port is in brackets.
pub(super) fn check_jump(text: &str) -> Result<(), BadSsh> {
    let explain = |problem: BadSsh| bad(problem.reason, JUMP_RULE);
    let (_, place) = split_user(text).map_err(explain)?;
    let (address, _) = split_port(place).map_err(explain)?;
    check_address(address).map_err(explain)
}

/// An address and the port behind it: `address[:port]`, where an IPv6 address with a port is in brackets.
pub(crate) fn split_port(place: &str) -> Result<(&str, Option<u16>), BadSsh> {
    let (address, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let inside =
                rest.split_once(']').ok_or_else(|| bad(format!("{place:?} has no ]"), ADDRESS_RULE))?;
            let port = match inside.1 {
                "" => None,
                behind => Some(behind.strip_prefix(':').unwrap_or(behind)),
            };
            (inside.0, port)
        }
        // A text with more than one colon is an IPv6 address.
        None if place.matches(':').count() == 1 => {
            place.split_once(':').map_or((place, None), |(address, port)| (address, Some(port)))
        }
        None => (place, None),
    };
    let Some(text) = port else { return Ok((address, None)) };
    let number = text.parse().ok().filter(|&number: &u16| number > 0 && !text.starts_with('+'));
    number
        .map(|number| (address, Some(number)))
        .ok_or_else(|| bad(format!("{text:?} is no port"), ADDRESS_RULE))
}
