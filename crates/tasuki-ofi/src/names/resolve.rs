//! Names of hosts and services to IP addresses and ports, by getaddrinfo(3).

use std::ffi::CStr;
use std::mem::zeroed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ptr;

/// The location that a node and a service name, either of which may be missing. A missing node is this host:
/// all its addresses for a `source`, the loopback address for a destination. A missing service is port 0.
/// `numeric`: the node is an IP address and nobody is asked (`FI_NUMERICHOST`). The error is getaddrinfo's.
pub fn resolve(
    node: Option<&CStr>,
    service: Option<&CStr>,
    numeric: bool,
    source: bool,
) -> Result<SocketAddr, String> {
    let flags = if numeric { libc::AI_NUMERICHOST } else { 0 };
    let found = match (node, service) {
        // getaddrinfo refuses to be given neither.
        (None, None) => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0),
        _ => look_up(node, service, flags)?,
    };
    let anywhere = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    Ok(if node.is_none() && source { SocketAddr::new(anywhere, found.port()) } else { found })
}

/// The first answer of getaddrinfo for a stream socket; without a node: the loopback address.
fn look_up(node: Option<&CStr>, service: Option<&CStr>, flags: i32) -> Result<SocketAddr, String> {
    let text = |name: Option<&CStr>| name.map_or(ptr::null(), CStr::as_ptr);
    let mut list: *mut libc::addrinfo = ptr::null_mut();
    // SAFETY: names are null or zero-terminated, the hints plain data for which zeroes are valid; `list`
    // takes the answer.
    let error = unsafe {
        let hints =
            libc::addrinfo { ai_flags: flags, ai_socktype: libc::SOCK_STREAM, ..zeroed::<libc::addrinfo>() };
        libc::getaddrinfo(text(node), text(service), &hints, &mut list)
    };
    if error != 0 {
        // SAFETY: a static text for every number.
        return Err(unsafe { CStr::from_ptr(libc::gai_strerror(error)) }.to_string_lossy().into_owned());
    }
    // SAFETY: the list of a successful call, whose entries are followed to the end.
    let found = unsafe {
        let mut entries = std::iter::successors(list.as_ref(), |entry| entry.ai_next.as_ref());
        entries.find_map(|entry| socket_address(entry))
    };
    // SAFETY: of getaddrinfo, and not used any more.
    unsafe { libc::freeaddrinfo(list) };
    found.ok_or_else(|| "no IP address has this name".to_owned())
}

/// # Safety
/// `entry` is one of getaddrinfo.
unsafe fn socket_address(entry: &libc::addrinfo) -> Option<SocketAddr> {
    match entry.ai_family {
        libc::AF_INET => {
            // SAFETY: the family says what the address is; it need not be aligned.
            let at = unsafe { entry.ai_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(u32::from_be(at.sin_addr.s_addr));
            Some(SocketAddr::new(ip.into(), u16::from_be(at.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let at = unsafe { entry.ai_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(SocketAddr::new(Ipv6Addr::from(at.sin6_addr.s6_addr).into(), u16::from_be(at.sin6_port)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(node: Option<&CStr>, service: Option<&CStr>, numeric: bool, source: bool) -> Option<String> {
        resolve(node, service, numeric, source).ok().map(|at| at.to_string())
    }

    // Numbers only, and localhost, which RFC 6761 keeps for this host: no name server is asked.
    #[test]
    fn nodes_and_services_become_locations() {
        let says = |text: &str| Some(text.to_owned());
        assert_eq!(found(Some(c"10.77.0.1"), Some(c"4711"), false, false), says("10.77.0.1:4711"));
        assert_eq!(found(Some(c"fd00::7"), None, true, true), says("[fd00::7]:0"));
        assert_eq!(found(None, Some(c"4711"), false, true), says("[::]:4711"));
        assert_eq!(found(None, None, false, true), says("[::]:0"));
        let local = resolve(Some(c"localhost"), Some(c"4711"), false, false).expect("every host has it");
        assert!(local.ip().is_loopback() && local.port() == 4711, "{local}");
        let local = resolve(None, Some(c"4711"), false, false).expect("a number needs no table");
        assert!(local.ip().is_loopback() && local.port() == 4711, "{local}");
    }

    #[test]
    fn what_is_no_name_is_refused() {
        assert_eq!(found(Some(c"localhost"), None, true, false), None, "not numeric");
        assert_eq!(found(Some(c"10.77.0.1"), Some(c"no such service"), false, false), None);
        assert_eq!(found(Some(c"no such host"), None, false, false), None);
    }
}
