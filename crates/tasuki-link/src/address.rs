//! Socket addresses as the kernel wants them.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A `sockaddr_in` or `sockaddr_in6`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) union RawAddr {
    family: libc::sa_family_t,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl RawAddr {
    /// No address: all zero, as room for the kernel to write one.
    pub(crate) fn empty() -> RawAddr {
        // SAFETY: all three members are plain integers, for which zero bytes are a value.
        unsafe { std::mem::zeroed() }
    }

    /// Room for an address, in bytes.
    pub(crate) const ROOM: libc::socklen_t = size_of::<RawAddr>() as libc::socklen_t;

    /// An address and its length in bytes.
    pub(crate) fn new(address: SocketAddr) -> (RawAddr, libc::socklen_t) {
        let mut raw = RawAddr::empty();
        match address {
            SocketAddr::V4(address) => {
                raw.v4 = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: address.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                    sin_zero: [0; 8],
                };
                (raw, size_of::<libc::sockaddr_in>() as libc::socklen_t)
            }
            SocketAddr::V6(address) => {
                raw.v6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: address.flowinfo().to_be(),
                    sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                    sin6_scope_id: address.scope_id(),
                };
                (raw, size_of::<libc::sockaddr_in6>() as libc::socklen_t)
            }
        }
    }

    /// The address that the kernel wrote. `None` if that is no IP address.
    pub(crate) fn get(&self) -> Option<SocketAddr> {
        // SAFETY: every bit pattern is a value of every member, and all bytes have been initialised by
        // `empty`.
        let (family, v4, v6) = unsafe { (self.family, self.v4, self.v6) };
        match i32::from(family) {
            libc::AF_INET => {
                let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddr::V4(SocketAddrV4::new(ip, u16::from_be(v4.sin_port))))
            }
            libc::AF_INET6 => {
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let (port, flow) = (u16::from_be(v6.sin6_port), u32::from_be(v6.sin6_flowinfo));
                Some(SocketAddr::V6(SocketAddrV6::new(ip, port, flow, v6.sin6_scope_id)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_they_were() {
        for text in ["10.77.0.1:40123", "255.255.255.255:65535", "[fe80::1%7]:1", "[2001:db8::ff]:0"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(RawAddr::new(address).0.get(), Some(address));
        }
        assert_eq!(RawAddr::empty().get(), None);
    }

    #[test]
    fn bytes_are_in_network_order() {
        let (raw, len) = RawAddr::new("1.2.3.4:258".parse().unwrap());
        assert_eq!(len, 16);
        // SAFETY: `raw` is larger than eight bytes, all of them initialised.
        let bytes = unsafe { std::slice::from_raw_parts((&raw as *const RawAddr).cast::<u8>(), 8) };
        assert_eq!(&bytes[2..], [1, 2, 1, 2, 3, 4]);
    }
}
