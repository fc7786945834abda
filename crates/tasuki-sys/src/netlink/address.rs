//! IPv4 addresses of interfaces.

use super::{Create, Netlink, NetlinkError};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage as Message,
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
    fn message(&self) -> AddressMessage {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.index = self.index;
        message.header.prefix_len = self.prefix;
        message.attributes.push(AddressAttribute::Local(IpAddr::V4(self.address)));
        message.attributes.push(AddressAttribute::Address(IpAddr::V4(self.address)));
        message
    }

    fn from_message(message: AddressMessage) -> Option<Self> {
        let local = message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Local(IpAddr::V4(address)) => Some(*address),
            _ => None,
        });
        let (index, prefix) = (message.header.index, message.header.prefix_len);
        Some(Self { index, address: local?, prefix })
    }
}

impl Netlink {
    /// Adds an IPv4 address to an interface; nothing changes if the interface has it already.
    pub fn add_address(&mut self, index: u32, address: Ipv4Addr, prefix: u8) -> Result<(), NetlinkError> {
        let message = Address { index, address, prefix }.message();
        let what = || format!("give interface {index} the address {address}/{prefix}");
        self.request(what, Message::NewAddress(message), Create::Replace.flags()).map(drop)
    }

    /// Removes an IPv4 address from an interface. The kernel also removes the routes that prefer it as their
    /// source.
    pub fn delete_address(&mut self, address: Address) -> Result<(), NetlinkError> {
        let Address { index, address: ip, prefix } = address;
        let what = || format!("take the address {ip}/{prefix} from interface {index}");
        self.request(what, Message::DelAddress(address.message()), 0).map(drop)
    }

    /// The IPv4 addresses of all interfaces.
    pub fn addresses(&mut self) -> Result<Vec<Address>, NetlinkError> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        let answers = self.dump(|| "list addresses".into(), Message::GetAddress(message))?;
        let address = |answer| match answer {
            Message::NewAddress(message) => Address::from_message(message),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(address).collect())
    }
}
