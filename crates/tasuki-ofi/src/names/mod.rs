//! Names of endpoints: the `node` and `service` of fi_getinfo(3) and fi_av(3).
//!
//! An endpoint's address holds a secret that is drawn when the endpoint opens, so that no host and port can
//! tell it. A *location*, an IP address and a TCP port in the form of an [`Address`], stands for an endpoint
//! whose address is not known yet. An endpoint that is opened with a location as its source listens there and
//! tells its address to every process that connects; a location that is inserted into an address vector is
//! replaced by what its listener tells.

mod resolve;
mod service;

pub use resolve::resolve;
pub use service::{NameService, ask};

use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};

use tasuki_engine::Address;

/// The location of an endpoint that has no name: on any address of this host, at no port.
pub const ANYWHERE: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0);

/// A location in the form of an address: without endpoint, incarnation and secret.
pub fn location(at: SocketAddr) -> Address {
    let identity = match at.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    Address { identity, port: at.port(), endpoint: 0, incarnation: 0, secret: [0; 16] }
}

/// Where to ask for the address of an endpoint; `None` if `address` is that of an endpoint.
pub fn as_location(address: &Address) -> Option<SocketAddr> {
    let at = SocketAddr::new(address.host(), address.port);
    (location(at) == *address).then_some(at)
}

/// Whether an IP address is one of this host's, or stands for all of them.
pub fn is_local(ip: IpAddr) -> bool {
    UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_told_from_addresses() {
        for text in ["10.77.0.1:4711", "[fd00::7]:1", "0.0.0.0:0", "[::]:0"] {
            let at: SocketAddr = text.parse().expect("an address and a port");
            let found = as_location(&location(at)).expect("a location");
            assert_eq!(found.port(), at.port(), "{text}");
            assert_eq!(found.ip(), at.ip().to_canonical(), "{text}");
        }
        let endpoint = Address { secret: [1; 16], ..location(ANYWHERE) };
        assert_eq!(as_location(&endpoint), None);
    }

    #[test]
    fn an_address_of_another_host_is_not_local() {
        assert!(is_local([127, 0, 0, 1].into()) && is_local(ANYWHERE.ip()));
        // RFC 5737: no host has it.
        assert!(!is_local([192, 0, 2, 1].into()));
    }
}
