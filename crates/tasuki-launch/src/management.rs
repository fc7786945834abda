//! The network over which launchers' daemons talk.

use nix::{ifaddrs::getifaddrs, sys::socket::SockaddrStorage};
use std::{
    io,
    net::{Ipv4Addr, UdpSocket},
};
use tasuki_cluster::Ipv4Net;

/// The management network, as seen by the host on which the launcher runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Management {
    /// The network; every host has an address in it.
    pub network: Ipv4Net,
    /// The launching host's address in it.
    pub address: Ipv4Addr,
    /// The launching host's interface with that address.
    pub interface: String,
}

impl Management {
    /// This host's interface on the way to `other`, another host's management address. Sends nothing: the
    /// kernel is only asked for its route. `None` if no interface carries the address that the route prefers.
    pub fn towards(other: Ipv4Addr) -> io::Result<Option<Self>> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        // The port does not matter: connecting a UDP socket only chooses a route.
        socket.connect((other, 9))?;
        let std::net::IpAddr::V4(address) = socket.local_addr()?.ip() else { return Ok(None) };
        Self::with_address(address)
    }

    /// This host's interface that carries `address`.
    pub fn with_address(address: Ipv4Addr) -> io::Result<Option<Self>> {
        let ipv4 = |address: Option<SockaddrStorage>| Some(address?.as_sockaddr_in()?.ip());
        let own = getifaddrs()?.find(|interface| ipv4(interface.address) == Some(address));
        Ok(own.map(|interface| {
            let mask = ipv4(interface.netmask).unwrap_or(Ipv4Addr::BROADCAST);
            let prefix = mask.to_bits().leading_ones() as u8;
            Self { network: Ipv4Net::around(address, prefix), address, interface: interface.interface_name }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Every Linux host has 127.0.0.1/8 on lo.
    #[test]
    fn loopback() {
        let Some(found) = Management::towards(Ipv4Addr::LOCALHOST).unwrap() else {
            return eprintln!("skipped: lo is down");
        };
        assert_eq!((found.network.to_string().as_str(), found.interface.as_str()), ("127.0.0.0/8", "lo"));
        assert_eq!(
            Management::with_address(Ipv4Addr::new(192, 0, 2, 77)).unwrap(),
            None,
            "TEST-NET-1 is nobody's"
        );
    }
}
