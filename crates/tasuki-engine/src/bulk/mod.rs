//! Length-coded bulk (`tasuki-bulk`) between endpoints: where messages enter and leave it, its sockets, its notes.
//!
//! A long message to another host is *offered*: its start carries a key instead of payload. The receiver that takes it (the message layer
//! sees a pull, as from memory that both share) asks for rounds of it, over a UDP socket that is connected to the sender's, one pair
//! per direction and on one rail. Notes travel on the service queue, so they are delivered once, in order, and only by those who know the
//! endpoint's address. Whatever goes wrong (no socket, a rail that carries nothing any more, an offer that is gone) ends in grants: the message layer
//! is told that nothing was pulled.

mod giving;
mod sockets;
mod taking;

use std::collections::{BTreeMap, VecDeque};

use nix::sys::epoll::{Epoll, EpollCreateFlags};
use std::os::fd::{AsFd, BorrowedFd};
use tasuki_bulk::ControlMessage;
use tasuki_proto::Time;

use crate::api::Peer;
use crate::core::Core;
use crate::memory::Memory;
use crate::peer::Way;
use crate::state::State;
use crate::stream;
use giving::Giving;
pub(crate) use taking::Job;
use taking::Taking;

/// Shorter messages go in frames: a round takes a round trip, and so does a grant, but notes cost more than grants.
pub(crate) const LEAST: u64 = 64 << 10;

/// What length-coded bulk has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkCounters {
    /// Bytes of messages that were received so.
    pub bytes: u64,
    /// Bytes of them that were copied, because a packet before them was missing.
    pub moved_bytes: u64,
    /// Packets that were asked for again.
    pub again: u64,
    /// Datagrams that were of no use.
    pub useless: u64,
    /// Messages that went in frames after all.
    pub given_up: u64,
    /// Bytes that were sent, those sent again included.
    pub sent_bytes: u64,
}

/// Both directions of one peer.
#[derive(Default)]
struct Link {
    taking: Taking,
    giving: Giving,
}

/// All length-coded bulk of an endpoint.
pub(crate) struct Bulk {
    /// Readable when one of the receiving sockets is.
    epoll: Epoll,
    links: BTreeMap<Peer, Link>,
    inbox: VecDeque<(Peer, ControlMessage)>,
    /// For what does not fit its place.
    over: Vec<u8>,
    pub counters: BulkCounters,
}

impl Bulk {
    pub fn new() -> nix::Result<Bulk> {
        Ok(Bulk {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            links: BTreeMap::new(),
            inbox: VecDeque::new(),
            over: Vec::new(),
            counters: BulkCounters::default(),
        })
    }

    /// Wakes whoever sleeps.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }

    /// A message is to be taken.
    pub fn post(&mut self, from: Peer, job: Job) {
        self.links.entry(from).or_default().taking.jobs.push_back(job);
    }

    /// A peer is gone, and with it everything that was under way.
    pub fn forget(&mut self, peer: Peer) {
        self.links.remove(&peer);
    }

    /// When something is to be done though nothing arrives, ns.
    pub fn deadline(&self) -> Option<u64> {
        let both = |link: &Link| [link.taking.deadline(), link.giving.deadline()];
        let waiting = if self.inbox.is_empty() { None } else { Some(0) };
        self.links.values().flat_map(both).flatten().chain(waiting).min()
    }
}

impl Core {
    /// A message to the peer goes as length-coded bulk, if the peer wants it so.
    pub fn sends_rounds(&self, peer: Peer, memory: &Memory) -> bool {
        memory.len() >= LEAST && self.state(peer).is_some_and(|state| matches!(state.way, Way::Packets(_)))
    }

    /// A note has come.
    pub fn told(&mut self, source: Peer, bytes: &[u8]) {
        if stream::is_stream(bytes) {
            return self.told_of_stream(source, bytes);
        }
        match (ControlMessage::read(bytes), &mut self.bulk) {
            (Some(note), Some(bulk)) => bulk.inbox.push_back((source, note)),
            // Whoever offers nothing and takes nothing is told nothing.
            _ => self.broken.push((source, "a note about bulk makes no sense".to_owned())),
        }
    }

    fn tell(&mut self, peer: Peer, note: &ControlMessage) {
        let mut bytes = Vec::new();
        note.write(&mut bytes);
        self.send_note(peer, bytes);
    }
}

impl State {
    /// Moves length-coded bulk on. True if something was done.
    pub fn poll_bulk(&mut self, now: Time) -> bool {
        let Some(mut bulk) = self.core.bulk.take() else { return false };
        let mut busy = false;
        while let Some((peer, note)) = bulk.inbox.pop_front() {
            busy = true;
            self.take_note(&mut bulk, peer, note, now);
        }
        let mut links = std::mem::take(&mut bulk.links);
        for (&peer, link) in &mut links {
            busy |= link.giving.poll(&mut self.core, &mut bulk, peer, now);
            busy |= self.poll_taking(&mut bulk, &mut link.taking, peer, now);
        }
        bulk.links = links;
        self.core.bulk = Some(bulk);
        busy
    }

    fn take_note(&mut self, bulk: &mut Bulk, peer: Peer, note: ControlMessage, now: Time) {
        if self.core.state(peer).is_none_or(|state| state.gone || state.reason.is_some()) {
            return;
        }
        let mut link = bulk.links.remove(&peer).unwrap_or_default();
        match note {
            ControlMessage::Open { rail, port } => link.giving.open(&mut self.core, peer, rail, port),
            ControlMessage::Pull { .. } | ControlMessage::Resend { .. } => {
                link.giving.told(&mut self.core, peer, &note, now)
            }
            ControlMessage::Opened { .. }
            | ControlMessage::Refused
            | ControlMessage::Gone { .. }
            | ControlMessage::Sent { .. } => {
                link.taking.told(&mut self.core, bulk, peer, note, now);
            }
        }
        bulk.links.insert(peer, link);
    }
}
