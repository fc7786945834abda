//! Static neighbours (the ARP table).

use super::{Create, Netlink, NetlinkError};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage as Message,
    neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState},
};
use std::net::Ipv4Addr;

impl Netlink {
    /// Sets a permanent neighbour: the kernel asks nobody for its MAC address and never forgets it.
    pub fn set_neighbour(&mut self, index: u32, address: Ipv4Addr, mac: [u8; 6]) -> Result<(), NetlinkError> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        message.attributes.push(NeighbourAttribute::Destination(NeighbourAddress::Inet(address)));
        message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.to_vec()));
        let what = || format!("set neighbour {address} on interface {index}");
        self.request(what, Message::NewNeighbour(message), Create::Replace.flags()).map(drop)
    }
}
