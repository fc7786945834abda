//! Static neighbours (the ARP table).

use super::{Create, Netlink, NetlinkError};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage as Message,
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
    fn from_message(message: NeighbourMessage) -> Option<Self> {
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

impl Netlink {
    /// The ARP table.
    pub fn neighbours(&mut self) -> Result<Vec<Neighbour>, NetlinkError> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet;
        let answers = self.dump(|| "list neighbours".into(), Message::GetNeighbour(message))?;
        let neighbour = |answer| match answer {
            Message::NewNeighbour(message) => Neighbour::from_message(message),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(neighbour).collect())
    }

    /// Removes a neighbour; not an error if it is not known.
    pub fn delete_neighbour(&mut self, index: u32, address: Ipv4Addr) -> Result<(), NetlinkError> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.ifindex = index;
        message.attributes.push(NeighbourAttribute::Destination(NeighbourAddress::Inet(address)));
        let what = || format!("forget neighbour {address} on interface {index}");
        match self.request(what, Message::DelNeighbour(message), 0) {
            Err(error) if error.source.raw_os_error() != Some(libc::ENOENT) => Err(error),
            _ => Ok(()),
        }
    }

    /// Sets a permanent neighbour: the kernel never asks for its MAC address and never forgets it.
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
