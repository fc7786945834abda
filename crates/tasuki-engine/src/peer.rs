//! What is known of one peer: how it is reached, and what waits for room on the way.

use std::net::SocketAddr;

use tasuki_link::Mac;
use tasuki_msg::{PeerId, Transmit};
use tasuki_proto::{ConnId, Time};
use tasuki_ring::{Cma, Outbox};
use tasuki_wire::Path;

use crate::address::Address;
use crate::doubt::Doubt;

/// The way to a peer. Chosen when something first goes there; the way from it is the peer's own choice.
pub(crate) enum Way {
    /// Nothing has gone there yet.
    Unknown,
    /// It is this endpoint itself.
    Own,
    /// Through memory that both share.
    Shared(Box<Shared>),
    /// In packets.
    Packets(ConnId),
    /// It is gone, or closed.
    Gone,
}

/// The way to a peer on the same host.
pub(crate) struct Shared {
    pub outbox: Outbox,
    /// How to read the peer's memory, if that is allowed.
    pub cma: Option<Cma>,
    /// The ring knows who writes.
    pub introduced: bool,
    /// A frame that was taken from the message layer when the ring was full.
    pub waiting: Option<Transmit>,
    /// The peer could not write into this process's memory.
    pub refuses: bool,
}

/// Where packets of one path go: through which of the own links, and to whom there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub link: usize,
    pub to: Destination,
}

/// Who is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A socket.
    Udp(SocketAddr),
    /// A NIC.
    Raw(Mac),
}

/// One peer.
pub(crate) struct PeerState {
    pub id: PeerId,
    pub address: Address,
    pub way: Way,
    /// The connection on which it comes, or which this side has opened.
    pub conn: Option<ConnId>,
    /// By path; worked out when first needed, and again when its greeting tells more.
    pub targets: Vec<(Path, Target)>,
    /// The message layer has declared it gone.
    pub gone: bool,
    /// When this side opened a connection that the peer has not answered yet.
    pub unanswered: Option<Time>,
    /// Why it was declared failed.
    pub reason: Option<String>,
    /// What its host says of it, once it was asked.
    pub doubt: Option<Box<Doubt>>,
}

impl PeerState {
    pub fn new(id: PeerId, address: Address) -> PeerState {
        PeerState {
            id,
            address,
            way: Way::Unknown,
            conn: None,
            targets: Vec::new(),
            gone: false,
            unanswered: None,
            reason: None,
            doubt: None,
        }
    }

    /// Whether it is still there is asked of its host by packet: nobody has said a word yet, or words go in packets.
    pub fn is_asked(&self) -> bool {
        self.conn.is_some() || matches!(self.way, Way::Unknown)
    }

    /// Its host has refused a knock, and it has not been heard since.
    pub fn is_on_trial(&self) -> bool {
        self.doubt.as_ref().is_some_and(|doubt| doubt.is_open())
    }

    /// Something has gone to it or come from it.
    pub fn is_known(&self) -> bool {
        self.conn.is_some() || !matches!(self.way, Way::Unknown)
    }
}
