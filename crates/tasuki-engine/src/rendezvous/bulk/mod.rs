//! Length-coded bulk (`tasuki-bulk`) between two endpoints: its sockets, its rounds, and its control
//! messages.
//!
//! The receiver of a long message asks for rounds of it, over a UDP socket that is connected to the sender's:
//! one pair of sockets for each direction, on one rail. Control messages travel on the internal queue.

mod rx;
mod sockets;
mod tx;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::epoll::{Epoll, EpollCreateFlags};
use tasuki_bulk::ControlMessage;

use super::context::Context;
use crate::api::Peer;
use crate::messages::PullJob;
use rx::BulkRx;
use tx::BulkTx;

/// What length-coded bulk has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkCounters {
    /// Bytes of messages that were received by it.
    pub bytes: u64,
    /// Bytes of them that were copied, because a packet before them was missing.
    pub moved_bytes: u64,
    /// Packets that were asked for again.
    pub again: u64,
    /// Datagrams that were of no use.
    pub useless: u64,
    /// Messages that went in frames after all.
    pub given_up: u64,
    /// Bytes that were sent, including those that were sent again.
    pub sent_bytes: u64,
}

/// Both directions of one peer.
#[derive(Default)]
struct Link {
    rx: BulkRx,
    tx: BulkTx,
}

/// All length-coded bulk of an endpoint.
pub(crate) struct Bulk {
    /// Readable when one of the receiving sockets is.
    epoll: Epoll,
    links: BTreeMap<Peer, Link>,
    /// Control messages that have arrived.
    inbox: VecDeque<(Peer, ControlMessage)>,
    shared: Shared,
}

/// What all links share while they are at work.
#[derive(Default)]
struct Shared {
    /// Room for bytes of datagrams that do not fit their place.
    overflow: Vec<u8>,
    counters: BulkCounters,
}

impl Bulk {
    pub fn new() -> nix::Result<Bulk> {
        Ok(Bulk {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            links: BTreeMap::new(),
            inbox: VecDeque::new(),
            shared: Shared::default(),
        })
    }

    /// Becomes readable when a datagram arrives at one of the sockets.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }

    pub fn counters(&self) -> BulkCounters {
        self.shared.counters
    }

    /// A message is to be fetched from a peer.
    pub fn fetch(&mut self, from: Peer, job: PullJob) {
        self.links.entry(from).or_default().rx.push(job);
    }

    /// A peer has failed, and with it everything that was under way.
    pub fn forget(&mut self, peer: Peer) {
        self.links.remove(&peer);
    }

    /// A control message has arrived. False if it makes no sense.
    pub fn hear(&mut self, source: Peer, bytes: &[u8]) -> bool {
        let Some(message) = ControlMessage::read(bytes) else { return false };
        self.inbox.push_back((source, message));
        true
    }

    /// When something is to be done though nothing arrives, ns.
    pub fn deadline(&self) -> Option<u64> {
        let both = |link: &Link| [link.rx.deadline(), link.tx.deadline()];
        let waiting = if self.inbox.is_empty() { None } else { Some(0) };
        self.links.values().flat_map(both).flatten().chain(waiting).min()
    }

    /// Moves everything on. True if something was done.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let mut busy = false;
        while let Some((peer, message)) = self.inbox.pop_front() {
            busy = true;
            self.handle(cx, peer, message);
        }
        let Bulk { epoll, links, shared, .. } = self;
        for (&peer, link) in links {
            busy |= link.tx.poll(cx, shared, peer);
            busy |= link.rx.poll(cx, shared, epoll, peer);
        }
        busy
    }

    fn handle(&mut self, cx: &mut Context<'_>, peer: Peer, message: ControlMessage) {
        if cx.record(peer).is_none_or(|record| record.gone || record.failure.is_some()) {
            return;
        }
        let link = self.links.entry(peer).or_default();
        match message {
            ControlMessage::Open { rail, port } => link.tx.open(cx, peer, rail, port),
            ControlMessage::Pull { .. } | ControlMessage::Resend { .. } => link.tx.handle(cx, peer, &message),
            ControlMessage::Opened { .. }
            | ControlMessage::Refused
            | ControlMessage::Gone { .. }
            | ControlMessage::Sent { .. } => {
                link.rx.handle(cx, &mut self.shared, peer, message);
            }
        }
    }
}

/// Sends a control message.
fn tell(cx: &mut Context<'_>, peer: Peer, message: &ControlMessage) {
    let mut bytes = Vec::new();
    message.write(&mut bytes);
    cx.send_control(peer, bytes);
}
