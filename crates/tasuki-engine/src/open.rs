//! Opening an endpoint: identity, sockets, shared memory.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::sync::Arc;

use tasuki_link::{LinkError, LinkWatch, UdpLink, UdpOptions};
use tasuki_msg::Config;
use tasuki_proto::{Local, Proto};
use tasuki_ring::{Segment, SegmentOptions};
use tasuki_tuning::{credit, engine};

use crate::address::Address;
use crate::clock::Clock;
use crate::coalesce_watch::CoalesceWatch;
use crate::engine::Engine;
use crate::liveness::Liveness;
use crate::messages::Messages;
use crate::net::lanes::{Opening, Sockets};
use crate::net::link::Link;
use crate::net::rails::{Host, RailTable, RailsError, mapped};
use crate::net::readiness::Readiness;
use crate::net::{Net, Parts};
use crate::options::{Framing, Lanes, Options, Rate, SenderCopies, VariableError};
use crate::rendezvous::Rendezvous;
use crate::rendezvous::bulk::Bulk;
use crate::rendezvous::stream::Streams;
use crate::shm::dual_copy::DualCopies;
use crate::shm::{Shm, token_of};
use crate::sleep::Sleeper;
use crate::wait::WaitPolicy;
use crate::wait::oversubscription::Oversubscription;

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
        "no UDP port is free on {identity} and on all NICs at once: close programs or widen \
         net.ipv4.ip_local_port_range"
    )]
    Ports {
        /// The identity address.
        identity: IpAddr,
    },
    /// The cluster's file says `authenticate = true`, and this process has no key.
    #[error(
        "the processes of this cluster authenticate their packets (authenticate = true), and this one has no \
         key: start it with `tasuki run`, or give all processes of the job the same TASUKI_JOB_KEY"
    )]
    NoKey,
    /// The sockets cannot be waited for.
    #[error("the sockets cannot be waited for: {0}; are descriptors left (ulimit -n)?")]
    Wait(std::io::Error),
}

/// Name of the identity interface, which `tasuki apply` and the lab set up.
const IDENTITY_INTERFACE: &str = "tasuki0";

/// A new endpoint's engine, and what its threads use without the lock.
pub(crate) struct Opened {
    pub engine: Engine,
    pub address: Address,
    pub clock: Clock,
    pub coalesce_watch: Arc<CoalesceWatch>,
    pub processors: Oversubscription,
    pub sleeper: Sleeper,
    /// Further references to the sockets of raw lanes, once they are open.
    pub raw_sockets: Sockets,
}

/// Opens sockets and shared memory.
pub(crate) fn open(options: &Options) -> Result<Opened, OpenError> {
    let rails = RailTable::load(options.rails.as_deref())?;
    if rails.authenticate && options.job_key.is_none() {
        return Err(OpenError::NoKey);
    }
    let addresses = addresses();
    let identity = options.identity.or(rails.identity).unwrap_or_else(|| find_identity(&addresses));
    let links = bind_all(identity, &rails)?;
    let mut random = [0u8; 36];
    getrandom::fill(&mut random)?;
    let port = links[0].udp.local().port();
    let address = new_address(identity, port, &random).with_key(options.job_key.as_ref());
    let (clock, rendezvous) = (Clock::new(), open_rendezvous(options)?);
    let net = open_net(options, address, (links, rails, smallest_mtu(&addresses)), &random, &rendezvous)?;
    // Without shared memory (a full or missing /dev/shm) messages inside the host go in packets; `tasuki
    // doctor` tells.
    let token = SegmentOptions::new(token_of(&address));
    let segment = if options.shm { Segment::create(&token).ok() } else { None };
    let dual_copies = DualCopies::new(options.sender_copies == SenderCopies::Never);
    let shm = Shm::new(segment, address, clock, dual_copies);
    let (raw_sockets, coalesce_watch) = (net.raw_sockets(), net.coalesce_watch());
    let descriptors = std::iter::once(net.readiness().as_fd()).chain(rendezvous.bulk().map(Bulk::as_fd));
    let sleeper = Sleeper::new(descriptors, net.raw_sockets(), shm.is_open()).map_err(OpenError::Wait)?;
    let processors = Oversubscription::new(options.sender_copies == SenderCopies::Always);
    let messages = Messages::new(message_config(options), options.pacer(), clock);
    let owners = (messages, shm, net, rendezvous);
    let liveness = Liveness::new(options.greeting);
    let wait = WaitPolicy::new(processors.clone(), options.siblings.clone());
    let mut engine = Engine::new(address, clock, owners, wait, (liveness, options.on_failure));
    if options.stats {
        engine.open_page(options.one_sided);
    }
    Ok(Opened { engine, address, clock, coalesce_watch, processors, sleeper, raw_sockets })
}

/// The address of a new endpoint. `random` names it: 16 bytes are its secret, 8 its incarnation, 4 its id.
fn new_address(identity: IpAddr, port: u16, random: &[u8; 36]) -> Address {
    Address {
        identity: mapped(identity),
        port,
        endpoint: u32::from_le_bytes(std::array::from_fn(|i| random[32 + i])),
        incarnation: u64::from_le_bytes(std::array::from_fn(|i| random[16 + i])),
        secret: std::array::from_fn(|i| random[i]),
    }
}

fn message_config(options: &Options) -> Config {
    Config {
        pool_bytes: options.pool_bytes,
        peer_bytes: options.peer_bytes,
        expected_peers: options.expected_peers,
        initial_credit: credit::INITIAL,
    }
}

fn open_rendezvous(options: &Options) -> Result<Rendezvous, OpenError> {
    // The bytes of streams and of length-coded bulk carry no tags.
    let framing = if options.job_key.is_some() { Framing::Frames } else { options.framing };
    let streams = match framing {
        Framing::Auto => Some(Streams::new(false)),
        Framing::Streams => Some(Streams::new(true)),
        Framing::Frames | Framing::Length => None,
    };
    let bulk = match framing {
        Framing::Length => Some(Bulk::new().map_err(|error| OpenError::Wait(error.into()))?),
        Framing::Auto | Framing::Streams | Framing::Frames => None,
    };
    Ok(Rendezvous::new(bulk, streams))
}

fn open_net(
    options: &Options,
    own: Address,
    (links, rails, routed_mtu): (Vec<Link>, RailTable, u16),
    random: &[u8; 36],
    rendezvous: &Rendezvous,
) -> Result<Net, OpenError> {
    let link_watch = watch_links(&links);
    let readiness =
        Readiness::new(&links, link_watch.as_ref()).map_err(|error| OpenError::Wait(error.into()))?;
    let raw = options.lanes == Lanes::RawUdp;
    let opening = if raw { Opening::begin(&links, own.endpoint, options) } else { None };
    let local = Local {
        endpoint: own.endpoint,
        incarnation: own.incarnation,
        secret: tasuki_wire::Secret(own.secret),
        identity: own.identity,
        port: own.port,
    };
    let seed = u64::from_le_bytes(std::array::from_fn(|i| random[24 + i]));
    let fetches = rendezvous.fetches();
    Ok(Net::new(Parts {
        host: Host { own, rails, routed_mtu, fetches, job_key: options.job_key },
        proto: Proto::new(local, proto_config(options), seed),
        links,
        opening,
        readiness,
        link_watch,
        receivers: match &options.rate {
            Rate::Static(receivers) => Some(receivers.clone()),
            Rate::Window | Rate::Adaptive => None,
        },
    }))
}

fn proto_config(options: &Options) -> tasuki_proto::Config {
    let config = tasuki_proto::Config { job_key: options.job_key, ..tasuki_proto::Config::default() };
    // Frames with a priority must be few, or they wait for each other.
    if options.priority.is_some() { config.raw_for_short_only() } else { config }
}

/// Binds a socket to the identity address and one to each NIC, all to one port.
fn bind_all(identity: IpAddr, rails: &RailTable) -> Result<Vec<Link>, OpenError> {
    let nics = rails.nics();
    'port: for _ in 0..engine::PORT_TRIES {
        let first = UdpLink::bind(&UdpOptions::new(identity))?;
        let port = first.local().port();
        let mut links = vec![Link::new(first, None)];
        for (nic, address) in &nics {
            let options = UdpOptions { port, device: Some(nic.clone()), ..UdpOptions::new(*address) };
            match UdpLink::bind(&options) {
                Ok(udp) => links.push(Link::new(udp, Some(nic.clone()))),
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

/// Watches the link states of the NICs. Where that is not allowed, silence alone shows which rails are dead.
fn watch_links(links: &[Link]) -> Option<LinkWatch> {
    let nics: Vec<&str> = links.iter().filter_map(|link| link.nic.as_deref()).collect();
    if nics.is_empty() { None } else { LinkWatch::open(nics).ok() }
}

/// The address by which others know this host if no option or file names one: that of the identity interface,
/// or the one from which the default route starts, or any, or loopback.
fn find_identity(addresses: &[(String, IpAddr)]) -> IpAddr {
    let named = addresses.iter().find(|(name, _)| name == IDENTITY_INTERFACE).map(|(_, address)| *address);
    named
        .or_else(route_source)
        .or_else(|| addresses.iter().map(|(_, address)| *address).find(|address| !address.is_loopback()))
        .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

/// The IPv4 addresses of the interfaces that are up.
fn addresses() -> Vec<(String, IpAddr)> {
    let Ok(all) = nix::ifaddrs::getifaddrs() else { return Vec::new() };
    all.filter(|one| one.flags.contains(nix::net::if_::InterfaceFlags::IFF_UP))
        .filter_map(|one| {
            let address = one.address.as_ref()?.as_sockaddr_in()?.ip();
            Some((one.interface_name, IpAddr::V4(address)))
        })
        .collect()
}

/// The address from which packets to the world would start. Nothing is sent.
fn route_source() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // TEST-NET-1 (RFC 5737) is routed like any address and belongs to nobody.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_unspecified())
}

/// The smallest MTU of this host's interfaces, bytes: the routed rail may lead over any of them.
fn smallest_mtu(addresses: &[(String, IpAddr)]) -> u16 {
    let mtu = |name: &str| {
        std::fs::read_to_string(format!("/sys/class/net/{name}/mtu")).ok()?.trim().parse::<u32>().ok()
    };
    let mtus =
        addresses.iter().filter(|(_, address)| !address.is_loopback()).filter_map(|(name, _)| mtu(name));
    let smallest = mtus.filter(|mtu| *mtu >= 1280).min().unwrap_or(1500);
    u16::try_from(smallest).unwrap_or(u16::MAX)
}
