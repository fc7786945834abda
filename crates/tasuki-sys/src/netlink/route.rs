//! IPv4 host routes, over one or several next hops.

use super::saved_route::SavedRoute;
use super::{Create, Netlink, NetlinkError};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage as Message,
    route::{
        RouteAddress, RouteAttribute, RouteMessage, RouteNextHop, RouteNextHopFlags, RouteProtocol,
        RouteScope, RouteType,
    },
};
use std::net::{IpAddr, Ipv4Addr};

/// The routing protocol number that marks routes which Tasuki has made. (`rtnetlink(7)`: numbers above
/// `RTPROT_STATIC` are for the user to assign; 116 is not among those that `include/uapi/linux/rtnetlink.h`
/// names.)
pub const ROUTE_PROTOCOL: u8 = 116;

/// A route to one address (/32) in the main table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destination.
    pub destination: Ipv4Addr,
    /// Source address that the kernel prefers.
    pub source: Ipv4Addr,
    /// At least one gateway; several make a multipath route.
    pub gateways: Vec<Gateway>,
}

/// A next hop of a [`Route`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// Outgoing interface.
    pub index: u32,
    /// The next hop's address, which is taken to be on the link, so that no route to it is needed; `None`:
    /// the destination itself is on the link.
    pub via: Option<Ipv4Addr>,
    /// Relative weight, 1..=256.
    pub weight: u16,
}

impl Gateway {
    fn flags(&self) -> RouteNextHopFlags {
        if self.via.is_some() { RouteNextHopFlags::Onlink } else { RouteNextHopFlags::empty() }
    }

    fn next_hop(&self) -> RouteNextHop {
        let mut hop = RouteNextHop::default();
        hop.flags = self.flags();
        // The kernel counts weights from 0 (`rtnh_hops`, include/uapi/linux/rtnetlink.h).
        hop.hops = u8::try_from(self.weight.clamp(1, 256) - 1).unwrap_or(u8::MAX);
        hop.interface_index = self.index;
        hop.attributes.extend(self.via.map(|via| RouteAttribute::Gateway(RouteAddress::Inet(via))));
        hop
    }
}

/// A message about a route of Tasuki's to one address.
fn to_host(destination: Ipv4Addr) -> RouteMessage {
    let mut message = RouteMessage::default();
    let header = &mut message.header;
    header.address_family = AddressFamily::Inet;
    header.destination_prefix_length = 32;
    header.table = netlink_packet_route::route::RouteHeader::RT_TABLE_MAIN;
    header.protocol = RouteProtocol::Other(ROUTE_PROTOCOL);
    message.attributes.push(RouteAttribute::Destination(RouteAddress::Inet(destination)));
    message
}

impl Route {
    fn message(&self) -> RouteMessage {
        let mut message = to_host(self.destination);
        let header = &mut message.header;
        header.kind = RouteType::Unicast;
        header.scope = if self.gateways.iter().any(|gateway| gateway.via.is_some()) {
            RouteScope::Universe
        } else {
            RouteScope::Link
        };
        let attributes = &mut message.attributes;
        attributes.push(RouteAttribute::PrefSource(RouteAddress::Inet(self.source)));
        if let [only] = self.gateways.as_slice() {
            message.header.flags =
                netlink_packet_route::route::RouteFlags::from_bits_retain(u32::from(only.flags().bits()));
            attributes.push(RouteAttribute::Oif(only.index));
            attributes.extend(only.via.map(|via| RouteAttribute::Gateway(RouteAddress::Inet(via))));
        } else {
            attributes.push(RouteAttribute::MultiPath(self.gateways.iter().map(Gateway::next_hop).collect()));
        }
        message
    }
}

impl Netlink {
    /// Makes a route, or changes the route to the same destination to be like it.
    pub fn set_route(&mut self, route: &Route) -> Result<(), NetlinkError> {
        let what = || format!("set route to {}", route.destination);
        self.request(what, Message::NewRoute(route.message()), Create::Replace.flags()).map(drop)
    }

    /// Removes a route that [`Netlink::set_route`] made; not an error if there is none.
    pub fn delete_route(&mut self, destination: Ipv4Addr) -> Result<(), NetlinkError> {
        let mut message = to_host(destination);
        let header = &mut message.header;
        header.scope = RouteScope::NoWhere;
        header.kind = RouteType::Unspec;
        let what = || format!("remove the route to {destination}");
        match self.request(what, Message::DelRoute(message), 0) {
            Err(error) if error.source.raw_os_error() != Some(libc::ESRCH) => Err(error),
            _ => Ok(()),
        }
    }

    /// The interface by which packets to an address leave; `None` if there is no route to it.
    pub fn interface_to(&mut self, address: IpAddr) -> Result<Option<u32>, NetlinkError> {
        let mut message = RouteMessage::default();
        let (family, bits, address) = match address {
            IpAddr::V4(address) => (AddressFamily::Inet, 32, RouteAddress::Inet(address)),
            IpAddr::V6(address) => (AddressFamily::Inet6, 128, RouteAddress::Inet6(address)),
        };
        message.header.address_family = family;
        message.header.destination_prefix_length = bits;
        message.attributes.push(RouteAttribute::Destination(address));
        let answer = self.request(|| "look up a route".into(), Message::GetRoute(message), 0);
        match answer {
            Ok(answers) => Ok(answers.into_iter().find_map(|answer| match answer {
                Message::NewRoute(route) => {
                    route.attributes.into_iter().find_map(|attribute| match attribute {
                        RouteAttribute::Oif(index) => Some(index),
                        _ => None,
                    })
                }
                _ => None,
            })),
            Err(error) if error.source.raw_os_error() == Some(libc::ENETUNREACH) => Ok(None),
            Err(error) if error.source.raw_os_error() == Some(libc::EHOSTUNREACH) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All routes of the main table to single addresses that [`Netlink::set_route`] could replace.
    pub fn host_routes(&mut self) -> Result<Vec<SavedRoute>, NetlinkError> {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        let answers = self.dump(|| "list routes".into(), Message::GetRoute(message))?;
        let route = |answer| match answer {
            Message::NewRoute(message) => SavedRoute::from_message(message),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(route).collect())
    }

    /// Puts a route back in place of the one to the same destination.
    pub fn restore_route(&mut self, route: &SavedRoute) -> Result<(), NetlinkError> {
        let what = || format!("put the route to {} back", route.destination);
        self.request(what, Message::NewRoute(route.message.clone()), Create::Replace.flags()).map(drop)
    }
}
