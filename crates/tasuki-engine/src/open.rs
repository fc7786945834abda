//! Opening: identity, sockets, shared memory.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::Arc;

use tasuki_link::{LinkError, LinkWatch, UdpLink, UdpOptions};
use tasuki_msg::Config;
use tasuki_proto::{Local, Proto, Time};
use tasuki_ring::{Segment, SegmentOptions};

use crate::address::Address;
use crate::bulk::Bulk;
use crate::burst::Burst;
use crate::clock::Clock;
use crate::core::Core;
use crate::lanes::{Opening, Sockets};
use crate::linger::Linger;
use crate::looks::Looks;
use crate::options::{Framing, Lanes, Options, Rate, SenderCopies, VariableError};
use crate::patience::Patience;
use crate::rails::{RailTable, RailsError, mapped};
use crate::ready::Ready;
use crate::state::{Link, State};
use crate::stream::Streams;
use crate::ways::token_of;

/// Why an endpoint cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A variable of the environment cannot be used.
    #[error(transparent)]
    Variable(#[from] VariableError),
    /// The description of the rails cannot be used.
    #[error(transparent)]
    Rails(#[from] RailsError),
    /// The kernel gives no random numbers.
    #[error("the kernel gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
    /// A socket cannot be had.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// No port is free on all addresses of the host.
    #[error(
        "no UDP port is free on {identity} and on all NICs at once: close programs or widen net.ipv4.ip_local_port_range"
    )]
    Ports {
        /// The identity address.
        identity: IpAddr,
    },
    /// The sockets cannot be waited for.
    #[error("the sockets cannot be waited for: {0}; are descriptors left (ulimit -n)?")]
    Wait(std::io::Error),
}

/// Tries for a port that is free on all addresses.
const PORT_TRIES: usize = 32;

/// The identity interface that `tasuki apply` and the lab set up.
const IDENTITY_INTERFACE: &str = "tasuki0";

pub(crate) fn open(options: &Options) -> Result<State, OpenError> {
    let rails = RailTable::load(options.rails.as_deref())?;
    let addresses = addresses();
    let identity = options.identity.or(rails.identity).unwrap_or_else(|| find_identity(&addresses));
    let links = bind_all(identity, &rails)?;
    let carriers = watch_carriers(&links);
    let ready = Ready::new(&links, carriers.as_ref()).map_err(|error| OpenError::Wait(error.into()))?;
    let port = links[0].udp.local().port();
    let mut random = [0u8; 36];
    getrandom::fill(&mut random)?;
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| random[at + i]));
    let address = Address {
        identity: mapped(identity),
        port,
        endpoint: u32::from_le_bytes(std::array::from_fn(|i| random[32 + i])),
        incarnation: number(16),
        secret: std::array::from_fn(|i| random[i]),
    };
    let raw = options.lanes == Lanes::RawUdp;
    let opening = if raw { Opening::begin(&links, address.endpoint, options) } else { None };
    let token = token_of(&address);
    // Without shared memory (a full or missing /dev/shm) messages within the host go in packets; `tasuki doctor` tells.
    let segment = if options.shm { Segment::create(&SegmentOptions::new(token)).ok() } else { None };
    let local = Local {
        endpoint: address.endpoint,
        incarnation: address.incarnation,
        secret: tasuki_wire::Secret(address.secret),
        identity: address.identity,
        port,
    };
    let config = Config {
        pool_bytes: options.pool_bytes,
        peer_bytes: options.peer_bytes,
        expected_peers: options.expected_peers,
        initial_credit: tasuki_msg::INITIAL_CREDIT,
    };
    let mut core = Core::new(address, config, options.pacer(), rails, smallest_mtu(&addresses));
    if let Rate::Static(receivers) = &options.rate {
        core.receivers = Some(receivers.clone());
    }
    core.streams = match options.framing {
        Framing::Auto => Some(Box::new(Streams::new(false))),
        Framing::Streams => Some(Box::new(Streams::new(true))),
        Framing::Frames | Framing::Length => None,
    };
    if options.framing == Framing::Length {
        core.bulk = Some(Box::new(Bulk::new().map_err(|error| OpenError::Wait(error.into()))?));
    }
    core.dual_copies.never = options.sender_copies == SenderCopies::Never;
    core.dual_copies.company.assumed = options.sender_copies == SenderCopies::Always;
    let mut state = State {
        core,
        proto: Proto::new(local, proto_config(options), number(24)),
        udp_due: Time(0),
        udp_pause: 0,
        invite_due: Time(0),
        links,
        opening,
        raw_sockets: Sockets::default(),
        ready,
        carriers,
        segment,
        token,
        slots: Vec::new(),
        flowing: false,
        settled: false,
        stalled: Vec::new(),
        packet: vec![0; tasuki_wire::MAX_PACKET_LEN].into_boxed_slice(),
        clock: Clock::new(),
        next_watch: Time(0),
        watched: 0,
        closing: false,
        confirming: false,
        page: None,
        helped: 0,
        polled: 0,
        looks: Looks::new(),
        patience: Patience::new(),
        linger: Linger::default(),
        burst: Burst::new(),
        held: Arc::default(),
        on_failure: options.on_failure,
    };
    // A NIC that has no carrier now is not greeted on first.
    state.hear_carriers(Time(0));
    Ok(state)
}

fn proto_config(options: &Options) -> tasuki_proto::Config {
    let config = tasuki_proto::Config::default();
    // What goes first in switches must be little, or it waits for itself.
    if options.priority.is_some() { config.raw_for_short_only() } else { config }
}

/// A socket on the identity address and one on each NIC, all with one port.
fn bind_all(identity: IpAddr, rails: &RailTable) -> Result<Vec<Link>, OpenError> {
    let nics = rails.nics();
    'port: for _ in 0..PORT_TRIES {
        let first = UdpLink::bind(&UdpOptions::new(identity))?;
        let port = first.local().port();
        let mut links = vec![Link { udp: first, raw: None, nic: None, busy: false, carrier: true }];
        for (nic, address) in &nics {
            let options = UdpOptions { port, device: Some(nic.clone()), ..UdpOptions::new(*address) };
            match UdpLink::bind(&options) {
                Ok(udp) => {
                    links.push(Link { udp, raw: None, nic: Some(nic.clone()), busy: false, carrier: true });
                }
                Err(error) if error.is_in_use() => continue 'port,
                // A NIC that is not there now is a dead rail, not a reason not to start.
                Err(LinkError::Device { .. } | LinkError::Bind { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        return Ok(links);
    }
    Err(OpenError::Ports { identity })
}

/// Watches the NICs. Where that is not allowed, silence alone shows which rails are dead.
fn watch_carriers(links: &[Link]) -> Option<LinkWatch> {
    let nics: Vec<&str> = links.iter().filter_map(|link| link.nic.as_deref()).collect();
    if nics.is_empty() { None } else { LinkWatch::open(nics).ok() }
}

/// The address by which others know this host when nobody has set it up: of the identity interface, or the one that the
/// default route starts from, or any, or loopback.
fn find_identity(addresses: &[(String, IpAddr)]) -> IpAddr {
    let named = addresses.iter().find(|(name, _)| name == IDENTITY_INTERFACE).map(|(_, address)| *address);
    named
        .or_else(route_source)
        .or_else(|| addresses.iter().map(|(_, address)| *address).find(|address| !address.is_loopback()))
        .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

/// IPv4 addresses of interfaces that are up.
fn addresses() -> Vec<(String, IpAddr)> {
    let Ok(all) = nix::ifaddrs::getifaddrs() else { return Vec::new() };
    all.filter(|one| one.flags.contains(nix::net::if_::InterfaceFlags::IFF_UP))
        .filter_map(|one| {
            let address = one.address.as_ref()?.as_sockaddr_in()?.ip();
            Some((one.interface_name, IpAddr::V4(address)))
        })
        .collect()
}

/// Where packets to the world would start from; nothing is sent.
fn route_source() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // TEST-NET-1 (RFC 5737) is routed like any address and nobody's.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_unspecified())
}

/// MTU that every way out of this host has at least.
fn smallest_mtu(addresses: &[(String, IpAddr)]) -> u16 {
    let mtu = |name: &str| {
        std::fs::read_to_string(format!("/sys/class/net/{name}/mtu")).ok()?.trim().parse::<u32>().ok()
    };
    let mtus =
        addresses.iter().filter(|(_, address)| !address.is_loopback()).filter_map(|(name, _)| mtu(name));
    let smallest = mtus.filter(|mtu| *mtu >= 1280).min().unwrap_or(1500);
    u16::try_from(smallest).unwrap_or(u16::MAX)
}
