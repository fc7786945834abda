//! The packet carrier: messages between hosts, over all rails of a pair of hosts at once.
//!
//! On one side are the sockets of the NICs ([`link`]), on the other the packet layer (`tasuki-proto`), which
//! performs no IO and calls [`upcalls::Above`] for what it needs of the message layer. In between: which
//! socket a packet of a path goes to ([`targets`]), when the sockets are polled ([`readiness`], [`rx`]), and
//! when short messages share a packet ([`coalesce`]).

pub(crate) mod coalesce;
mod connections;
pub(crate) mod lanes;
pub(crate) mod link;
mod link_state;
mod pace;
pub(crate) mod rails;
pub(crate) mod readiness;
pub(crate) mod rx;
pub(crate) mod static_rate;
pub(crate) mod targets;
pub(crate) mod tx;
mod upcalls;

use std::sync::Arc;

use tasuki_link::LinkWatch;
use tasuki_proto::{Proto, Time};
use tasuki_tuning::inline;

use crate::address::Address;
use crate::coalesce_watch::CoalesceWatch;
use coalesce::Coalescer;
pub(crate) use connections::why_refused;
use lanes::{Opening, RawLanes, Sockets};
use link::Link;
use link_state::LinkStates;
use rails::{Host, RailTable};
use readiness::Readiness;
use rx::UdpPolls;
use static_rate::Receivers;
use targets::Targets;

/// The carrier.
pub(crate) struct Net {
    host: Host,
    proto: Proto,
    /// The first is the routed rail's.
    links: Vec<Link>,
    raw_lanes: RawLanes,
    readiness: Readiness,
    link_states: LinkStates,
    /// What senders were told of their receivers, in static mode.
    receivers: Option<Receivers>,
    targets: Targets,
    udp_polls: UdpPolls,
    coalescer: Coalescer,
    /// What the helper thread knows of messages that wait in the coalescer.
    coalesce_watch: Arc<CoalesceWatch>,
    /// Where a packet is written that is not written in the queue of its socket.
    packet: Box<[u8]>,
    /// Where the pieces of a short message are joined.
    gathered: Box<[u8]>,
}

/// What a [`Net`] is made of.
pub(crate) struct Parts {
    pub host: Host,
    pub proto: Proto,
    pub links: Vec<Link>,
    pub opening: Option<Opening>,
    pub readiness: Readiness,
    /// Tells of the NICs of all links but the first, in their order.
    pub link_watch: Option<LinkWatch>,
    pub receivers: Option<Receivers>,
}

impl Net {
    pub fn new(parts: Parts) -> Net {
        Net {
            host: parts.host,
            proto: parts.proto,
            links: parts.links,
            raw_lanes: RawLanes::new(parts.opening),
            readiness: parts.readiness,
            link_states: LinkStates::new(parts.link_watch),
            receivers: parts.receivers,
            targets: Targets::default(),
            udp_polls: UdpPolls::default(),
            coalescer: Coalescer::new(),
            coalesce_watch: Arc::default(),
            packet: vec![0; tasuki_wire::MAX_PACKET_LEN].into_boxed_slice(),
            gathered: vec![0; inline::MESSAGE_MAX].into_boxed_slice(),
        }
    }

    /// Address of this endpoint.
    pub fn own_address(&self) -> &Address {
        &self.host.own
    }

    /// The packet layer, for questions.
    pub fn proto(&self) -> &Proto {
        &self.proto
    }

    pub fn links(&self) -> &[Link] {
        &self.links
    }

    pub fn links_mut(&mut self) -> &mut [Link] {
        &mut self.links
    }

    pub fn check_key(&self, peer: &Address) -> Result<(), &'static str> {
        peer.check_key(self.host.job_key.as_ref())
    }

    pub fn rails(&self) -> &RailTable {
        &self.host.rails
    }

    /// Further references to the sockets of the raw lanes, once they are open.
    pub fn raw_sockets(&self) -> Sockets {
        self.raw_lanes.sockets()
    }

    pub fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// What the coalescer and the helper thread share.
    pub fn coalesce_watch(&self) -> Arc<CoalesceWatch> {
        Arc::clone(&self.coalesce_watch)
    }

    /// Makes the sockets wake a sleeper. Call it before every sleep that a packet is to end.
    pub fn prepare_to_sleep(&mut self) {
        self.readiness.cool(&self.links);
    }

    /// Gives up raw lanes that are still being opened.
    pub fn stop_opening_lanes(&mut self) {
        self.raw_lanes.give_up();
    }
}

/// Time.
impl Net {
    /// When the packet layer has something to do though nothing arrives.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        self.proto.deadline()
    }

    /// Does what is due in the packet layer. True if something was.
    #[inline]
    pub fn handle_timeout(&mut self, now: Time) -> bool {
        let due = self.proto.deadline().is_some_and(|deadline| deadline <= now);
        if due {
            self.proto.handle_timeout(now);
        }
        due
    }

    /// Lets the next transmission do what was deferred when packets arrived (acknowledgements). True if
    /// anything was.
    #[inline]
    pub fn catch_up(&mut self) -> bool {
        self.proto.flush_deferred_acks()
    }

    /// An event of the packet layer waits.
    #[inline(always)]
    pub fn has_events(&self) -> bool {
        self.proto.has_events()
    }

    /// There may be something to send or an event.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.proto.has_work()
    }
}
