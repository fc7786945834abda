//! IPv4 addresses of interfaces.

use super::{Create, Netlink, NetlinkError};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage as Message,
    address::{AddressAttribute, AddressMessage},
};
use std::net::{IpAddr, Ipv4Addr};

impl Netlink {
    /// Gives an interface an IPv4 address; nothing changes if it has it already.
    pub fn add_address(&mut self, index: u32, address: Ipv4Addr, prefix: u8) -> Result<(), NetlinkError> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.index = index;
        message.header.prefix_len = prefix;
        message.attributes.push(AddressAttribute::Local(IpAddr::V4(address)));
        message.attributes.push(AddressAttribute::Address(IpAddr::V4(address)));
        let what = || format!("give interface {index} the address {address}/{prefix}");
        self.request(what, Message::NewAddress(message), Create::Replace.flags()).map(drop)
    }
}
