//! Interfaces: veth pairs, bridges, up and down, MTU, MAC address; their IPv4 addresses and neighbours.

use super::counters::LinkCounters;
use super::{Address, Create, Neighbour, Netlink, NetlinkError};
use netlink_packet_route::{
    RouteNetlinkMessage as Message,
    link::{
        InfoBridge, InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, State,
    },
};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What the kernel says of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Interface index, unique in its network namespace.
    pub index: u32,
    /// Interface name.
    pub name: String,
    /// MTU in bytes.
    pub mtu: u32,
    /// Smallest and largest MTU that its driver takes, in bytes; a largest of 0 is no limit.
    pub mtu_range: [u32; 2],
    /// MAC address, if it is an Ethernet interface.
    pub mac: Option<[u8; 6]>,
    /// Administratively up.
    pub up: bool,
    /// Whether there is a signal from the other end (`IFF_LOWER_UP`).
    pub carrier: bool,
    /// Operational state is up or unknown (virtual devices without a notion of carrier).
    pub operational: bool,
    /// What it has sent and received.
    pub counters: LinkCounters,
    /// Most frames that the kernel makes of one buffer for this interface (segmentation offload).
    pub gso_max_segs: u32,
    /// What kind of virtual interface it is, as `bridge`, `vlan` or `veth`; `None`: a device of its own.
    pub kind: Option<String>,
    /// Index of the bridge or bond that it is a port of.
    pub controller: Option<u32>,
}

impl Link {
    fn from_message(message: LinkMessage) -> Self {
        let flags = message.header.flags;
        let mut link = Link {
            index: message.header.index,
            name: String::new(),
            mtu: 0,
            mtu_range: [0, 0],
            mac: None,
            up: flags.contains(LinkFlags::Up),
            carrier: flags.contains(LinkFlags::LowerUp),
            operational: false,
            counters: LinkCounters::default(),
            gso_max_segs: 0,
            kind: None,
            controller: None,
        };
        for attribute in message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name = name,
                LinkAttribute::Mtu(mtu) => link.mtu = mtu,
                LinkAttribute::MinMtu(least) => link.mtu_range[0] = least,
                LinkAttribute::MaxMtu(most) => link.mtu_range[1] = most,
                LinkAttribute::Address(mac) => link.mac = mac.try_into().ok(),
                LinkAttribute::OperState(state) => {
                    link.operational = matches!(state, State::Up | State::Unknown);
                }
                LinkAttribute::GsoMaxSegs(segments) => link.gso_max_segs = segments,
                LinkAttribute::LinkInfo(info) => {
                    link.kind = info.iter().find_map(|info| match info {
                        LinkInfo::Kind(kind) => Some(kind.to_string()),
                        _ => None,
                    });
                }
                LinkAttribute::Controller(index) => link.controller = Some(index).filter(|index| *index > 0),
                LinkAttribute::Stats64(stats) => link.counters = LinkCounters::from_kernel(&stats),
                _ => {}
            }
        }
        link
    }
}

/// One end of a veth pair to be made.
pub struct VethEnd<'a> {
    /// Interface name.
    pub name: &'a str,
    /// MAC address; `None`: the kernel's choice.
    pub mac: Option<[u8; 6]>,
    /// MTU in bytes.
    pub mtu: u32,
    /// Network namespace to put it in; `None`: that of the socket.
    pub namespace: Option<BorrowedFd<'a>>,
}

impl VethEnd<'_> {
    fn message(&self) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(self.name.into()));
        message.attributes.push(LinkAttribute::Mtu(self.mtu));
        if let Some(mac) = self.mac {
            message.attributes.push(LinkAttribute::Address(mac.to_vec()));
        }
        if let Some(namespace) = self.namespace {
            message.attributes.push(LinkAttribute::NetNsFd(namespace.as_raw_fd()));
        }
        message
    }
}

fn with_kind(mut message: LinkMessage, kind: InfoKind, data: Option<InfoData>) -> LinkMessage {
    let mut info = vec![LinkInfo::Kind(kind)];
    info.extend(data.map(LinkInfo::Data));
    message.attributes.push(LinkAttribute::LinkInfo(info));
    message
}

impl Netlink {
    /// Makes a veth pair; both ends start down.
    pub fn add_veth(&mut self, end: &VethEnd, peer: &VethEnd) -> Result<(), NetlinkError> {
        let data = InfoData::Veth(InfoVeth::Peer(peer.message()));
        let message = with_kind(end.message(), InfoKind::Veth, Some(data));
        let what = || format!("make veth pair {} - {}", end.name, peer.name);
        self.request(what, Message::NewLink(message), Create::Exclusive.flags()).map(drop)
    }

    /// Makes a bridge without spanning tree and without multicast snooping: it forwards like a plain switch.
    pub fn add_bridge(&mut self, name: &str) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.into()));
        let data = InfoData::Bridge(vec![InfoBridge::MulticastSnooping(false), InfoBridge::ForwardDelay(0)]);
        let message = with_kind(message, InfoKind::Bridge, Some(data));
        self.request(|| format!("make bridge {name}"), Message::NewLink(message), Create::Exclusive.flags())
            .map(drop)
    }

    /// Makes a `dummy` interface, which carries addresses: it is always up and drops what is sent through it.
    pub fn add_dummy(&mut self, name: &str) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.into()));
        let message = with_kind(message, InfoKind::Dummy, None);
        self.request(
            || format!("make dummy interface {name}"),
            Message::NewLink(message),
            Create::Exclusive.flags(),
        )
        .map(drop)
    }

    /// Removes a virtual interface, with its addresses and routes.
    pub fn delete_link(&mut self, index: u32) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        self.request(|| format!("remove interface {index}"), Message::DelLink(message), 0).map(drop)
    }

    /// All interfaces of the namespace.
    pub fn links(&mut self) -> Result<Vec<Link>, NetlinkError> {
        let answers = self.dump(|| "list interfaces".into(), Message::GetLink(LinkMessage::default()))?;
        Ok(answers
            .into_iter()
            .filter_map(|answer| match answer {
                Message::NewLink(message) => Some(Link::from_message(message)),
                _ => None,
            })
            .collect())
    }

    /// One interface by name.
    pub fn link(&mut self, name: &str) -> Result<Link, NetlinkError> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.into()));
        let what = || format!("look up interface {name}");
        let answers = self.request(what, Message::GetLink(message), 0)?;
        answers
            .into_iter()
            .find_map(|answer| match answer {
                Message::NewLink(message) => Some(Link::from_message(message)),
                _ => None,
            })
            .ok_or_else(|| NetlinkError {
                request: what(),
                source: std::io::Error::from_raw_os_error(libc::ENODEV),
            })
    }

    /// Sets an interface administratively up or down.
    pub fn set_up(&mut self, index: u32, up: bool) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.change_mask = LinkFlags::Up;
        if up {
            message.header.flags = LinkFlags::Up;
        }
        let what = || format!("set interface {index} {}", if up { "up" } else { "down" });
        self.request(what, Message::SetLink(message), 0).map(drop)
    }

    /// Sets an interface's MTU in bytes.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> Result<(), NetlinkError> {
        self.set_attribute(index, LinkAttribute::Mtu(mtu), || format!("set MTU {mtu} on interface {index}"))
    }

    /// Sets an interface's MAC address. The kernel forgets all neighbours on it, permanent ones too.
    pub fn set_mac(&mut self, index: u32, mac: [u8; 6]) -> Result<(), NetlinkError> {
        let what = || format!("set a MAC address on interface {index}");
        self.set_attribute(index, LinkAttribute::Address(mac.to_vec()), what)
    }

    /// Sets how many frames the kernel makes of one buffer for an interface. Connections that are open
    /// already keep their own limit.
    pub fn set_gso_max_segs(&mut self, index: u32, segments: u32) -> Result<(), NetlinkError> {
        let what = || format!("set gso_max_segs {segments} on interface {index}");
        self.set_attribute(index, LinkAttribute::GsoMaxSegs(segments), what)
    }

    /// Makes an interface a port of a bridge.
    pub fn set_bridge(&mut self, index: u32, bridge: u32) -> Result<(), NetlinkError> {
        let what = || format!("make interface {index} a port of bridge {bridge}");
        self.set_attribute(index, LinkAttribute::Controller(bridge), what)
    }

    fn set_attribute(
        &mut self,
        index: u32,
        attribute: LinkAttribute,
        what: impl FnOnce() -> String,
    ) -> Result<(), NetlinkError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(attribute);
        self.request(what, Message::SetLink(message), 0).map(drop)
    }

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
        let answers = self.dump(|| "list addresses".into(), Message::GetAddress(Address::all()))?;
        let address = |answer| match answer {
            Message::NewAddress(message) => Address::from_message(message),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(address).collect())
    }

    /// The ARP table.
    pub fn neighbours(&mut self) -> Result<Vec<Neighbour>, NetlinkError> {
        let answers = self.dump(|| "list neighbours".into(), Message::GetNeighbour(Neighbour::all()))?;
        let neighbour = |answer| match answer {
            Message::NewNeighbour(message) => Neighbour::from_message(message),
            _ => None,
        };
        Ok(answers.into_iter().filter_map(neighbour).collect())
    }

    /// Removes a neighbour; not an error if it is not known.
    pub fn delete_neighbour(&mut self, index: u32, address: Ipv4Addr) -> Result<(), NetlinkError> {
        let message = Neighbour::key(index, address);
        let what = || format!("forget neighbour {address} on interface {index}");
        match self.request(what, Message::DelNeighbour(message), 0) {
            Err(error) if error.source.raw_os_error() != Some(libc::ENOENT) => Err(error),
            _ => Ok(()),
        }
    }

    /// Sets a permanent neighbour: the kernel never asks for its MAC address and never forgets it.
    pub fn set_neighbour(&mut self, index: u32, address: Ipv4Addr, mac: [u8; 6]) -> Result<(), NetlinkError> {
        let message = Neighbour::permanent(index, address, mac);
        let what = || format!("set neighbour {address} on interface {index}");
        self.request(what, Message::NewNeighbour(message), Create::Replace.flags()).map(drop)
    }
}
