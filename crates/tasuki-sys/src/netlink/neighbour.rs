//! Static neighbours (the ARP table).

use netlink_packet_route::{
    AddressFamily,
    neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState},
};
use std::net::Ipv4Addr;

/// An entry of the ARP table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Interface by which the neighbour is reached.
    pub index: u32,
    /// The neighbour's address.
    pub address: Ipv4Addr,
    /// The neighbour's MAC address, if it is known.
    pub mac: Option<[u8; 6]>,
    /// Whether the entry was set by hand: then the kernel neither asks for the MAC address nor forgets it.
    pub permanent: bool,
}

impl Neighbour {
    /// The request for all neighbours.
    pub(super) fn all() -> NeighbourMessage {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet;
        message
    }

    /// The name of an entry in requests: its interface and its address.
    pub(super) fn key(index: u32, address: Ipv4Addr) -> NeighbourMessage {
        let mut message = Self::all();
        message.header.ifindex = index;
        message.attributes.push(NeighbourAttribute::Destination(NeighbourAddress::Inet(address)));
        message
    }

    /// A permanent entry.
    pub(super) fn permanent(index: u32, address: Ipv4Addr, mac: [u8; 6]) -> NeighbourMessage {
        let mut message = Self::key(index, address);
        message.header.state = NeighbourState::Permanent;
        message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.to_vec()));
        message
    }

    pub(super) fn from_message(message: NeighbourMessage) -> Option<Self> {
        let permanent = message.header.state == NeighbourState::Permanent;
        let (mut address, mut mac) = (None, None);
        for attribute in message.attributes {
            match attribute {
                NeighbourAttribute::Destination(NeighbourAddress::Inet(ip)) => address = Some(ip),
                NeighbourAttribute::LinkLayerAddress(bytes) => mac = bytes.try_into().ok(),
                _ => {}
            }
        }
        Some(Self { index: message.header.ifindex, address: address?, mac, permanent })
    }
}
