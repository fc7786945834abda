//! IPv4 addresses of interfaces.

use netlink_packet_route::{
    AddressFamily,
    address::{AddressAttribute, AddressMessage},
};
use std::net::{IpAddr, Ipv4Addr};

/// An IPv4 address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Interface that carries it.
    pub index: u32,
    /// The address.
    pub address: Ipv4Addr,
    /// Bits of its network.
    pub prefix: u8,
}

impl Address {
    /// The request for all addresses.
    pub(super) fn all() -> AddressMessage {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message
    }

    pub(super) fn message(&self) -> AddressMessage {
        let mut message = Self::all();
        message.header.index = self.index;
        message.header.prefix_len = self.prefix;
        message.attributes.push(AddressAttribute::Local(IpAddr::V4(self.address)));
        message.attributes.push(AddressAttribute::Address(IpAddr::V4(self.address)));
        message
    }

    pub(super) fn from_message(message: AddressMessage) -> Option<Self> {
        let local = message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Local(IpAddr::V4(address)) => Some(*address),
            _ => None,
        });
        let (index, prefix) = (message.header.index, message.header.prefix_len);
        Some(Self { index, address: local?, prefix })
    }
}
