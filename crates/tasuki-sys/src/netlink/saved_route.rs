//! Routes as the kernel has them, kept whole so that they can be put back.

use super::route::{Gateway, ROUTE_PROTOCOL, Route};
use netlink_packet_core::{Emitable, Parseable};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteNextHop, RouteNextHopFlags,
    RouteType,
};
use std::net::Ipv4Addr;

/// A route of the main table to one IPv4 address (/32), of the kind that [`super::Netlink::set_route`] would
/// replace.
///
/// It holds all that the kernel told, including attributes that this library does not know, with interfaces
/// by their indices: it can be put back for as long as the interfaces exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRoute {
    pub(super) message: RouteMessage,
    pub(super) destination: Ipv4Addr,
}

/// Clears the flags that describe a route's state, because the kernel refuses them in a request.
fn without_state(flags: RouteFlags) -> RouteFlags {
    flags & RouteFlags::Onlink
}

impl SavedRoute {
    /// Takes a route that is in the place of one of Tasuki's: main table, /32, no type of service, no metric.
    pub(super) fn from_message(mut message: RouteMessage) -> Option<Self> {
        let header = &message.header;
        let is_cached = header.flags.contains(RouteFlags::Cloned);
        let in_place = header.table == RouteHeader::RT_TABLE_MAIN
            && header.destination_prefix_length == 32
            && header.tos == 0
            && !is_cached;
        let mut destination = None;
        for attribute in &message.attributes {
            match attribute {
                RouteAttribute::Destination(RouteAddress::Inet(address)) => destination = Some(*address),
                RouteAttribute::Priority(metric) if *metric != 0 => return None,
                _ => {}
            }
        }
        message.header.flags = without_state(message.header.flags);
        message.attributes.retain(|attribute| !matches!(attribute, RouteAttribute::CacheInfo(_)));
        // The message of a route by a nexthop object may name only the object; but the kernel also lists the
        // next hops that are in it.
        if message.attributes.iter().any(|attribute| matches!(attribute, RouteAttribute::NhId(_))) {
            let expanded = |attribute: &RouteAttribute| {
                matches!(
                    attribute,
                    RouteAttribute::Oif(_) | RouteAttribute::Gateway(_) | RouteAttribute::MultiPath(_)
                )
            };
            message.attributes.retain(|attribute| !expanded(attribute));
        }
        for attribute in &mut message.attributes {
            if let RouteAttribute::MultiPath(hops) = attribute {
                hops.iter_mut().for_each(|hop| hop.flags &= RouteNextHopFlags::Onlink);
            }
        }
        in_place.then_some(Self { message, destination: destination? })
    }

    /// The destination.
    pub fn destination(&self) -> Ipv4Addr {
        self.destination
    }

    /// Whether Tasuki has made it.
    pub fn is_ours(&self) -> bool {
        u8::from(self.message.header.protocol) == ROUTE_PROTOCOL
    }

    /// Its next hops, whichever program has made it; empty if it does not lead to an interface.
    pub fn gateways(&self) -> Vec<Gateway> {
        if self.message.header.kind != RouteType::Unicast {
            return Vec::new();
        }
        let (mut index, mut via, mut gateways) = (None, None, Vec::new());
        for attribute in &self.message.attributes {
            match attribute {
                RouteAttribute::Oif(oif) => index = Some(*oif),
                RouteAttribute::Gateway(RouteAddress::Inet(address)) => via = Some(*address),
                RouteAttribute::MultiPath(hops) => gateways = hops.iter().map(gateway).collect(),
                _ => {}
            }
        }
        gateways.extend(index.map(|index| Gateway { index, via, weight: 1 }));
        gateways
    }

    /// The arguments of [`super::Netlink::set_route`] that would make it; `None` if Tasuki did not make it,
    /// or it holds more than that.
    pub fn as_route(&self) -> Option<Route> {
        let header = &self.message.header;
        if !self.is_ours() || header.kind != RouteType::Unicast {
            return None;
        }
        let (mut source, mut index, mut via, mut gateways) = (None, None, None, Vec::new());
        for attribute in &self.message.attributes {
            match attribute {
                RouteAttribute::PrefSource(RouteAddress::Inet(address)) => source = Some(*address),
                RouteAttribute::Oif(oif) => index = Some(*oif),
                RouteAttribute::Gateway(RouteAddress::Inet(address)) => via = Some(*address),
                RouteAttribute::MultiPath(hops) => gateways = hops.iter().map(gateway).collect(),
                RouteAttribute::Destination(_) | RouteAttribute::Table(_) => {}
                _ => return None,
            }
        }
        gateways.extend(index.map(|index| Gateway { index, via, weight: 1 }));
        Some(Route { destination: self.destination, source: source?, gateways })
    }

    /// The route as bytes, to be kept in a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.message.buffer_len()];
        self.message.emit(&mut bytes);
        bytes
    }

    /// Reads what [`Self::to_bytes`] has made; `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        // The parser reads the fixed part without checking that it is there.
        const HEADER_BYTES: usize = 12;
        if bytes.len() < HEADER_BYTES {
            return None;
        }
        Self::from_message(RouteMessage::parse(bytes).ok()?)
    }
}

fn gateway(hop: &RouteNextHop) -> Gateway {
    let via = hop.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Gateway(RouteAddress::Inet(address)) => Some(*address),
        _ => None,
    });
    Gateway { index: hop.interface_index, via, weight: u16::from(hop.hops) + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A route as the kernel lists it (rtnetlink(7)): struct rtmsg, then attributes.
    fn listed(protocol: u8, metric: Option<u32>) -> Vec<u8> {
        // family, dst_len, src_len, tos, table main, protocol, scope link, type unicast, flags linkdown.
        let mut bytes = vec![2, 32, 0, 0, 254, protocol, 253, 1, 16, 0, 0, 0];
        let mut attribute = |kind: u16, value: [u8; 4]| {
            bytes.extend(8_u16.to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(value);
        };
        attribute(1, [10, 78, 2, 1]);
        attribute(7, [10, 78, 1, 1]);
        attribute(4, 7_u32.to_ne_bytes());
        if let Some(metric) = metric {
            attribute(6, metric.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn a_route_of_ours_is_known_again() {
        let route = SavedRoute::from_bytes(&listed(116, None)).unwrap();
        let gateway = Gateway { index: 7, via: None, weight: 1 };
        let expected = Route {
            destination: Ipv4Addr::new(10, 78, 2, 1),
            source: Ipv4Addr::new(10, 78, 1, 1),
            gateways: vec![gateway],
        };
        assert_eq!(route.as_route(), Some(expected));
        assert_eq!(SavedRoute::from_bytes(&route.to_bytes()), Some(route));
    }

    #[test]
    fn somebody_elses_is_kept_whole() {
        // RTPROT_STATIC is 4.
        let route = SavedRoute::from_bytes(&listed(4, None)).unwrap();
        assert_eq!((route.as_route(), route.is_ours()), (None, false));
        let mut expected = listed(4, None);
        expected[8] = 0;
        assert_eq!(route.to_bytes(), expected, "all but the state of the link");
    }

    #[test]
    fn others_are_not_in_our_place() {
        assert_eq!(SavedRoute::from_bytes(&listed(4, Some(100))), None, "a metric");
        let mut wide = listed(4, None);
        wide[1] = 24;
        assert_eq!(SavedRoute::from_bytes(&wide), None, "a network");
        for length in 0..listed(4, None).len() {
            let _ = SavedRoute::from_bytes(&listed(4, None)[..length]);
        }
    }
}
