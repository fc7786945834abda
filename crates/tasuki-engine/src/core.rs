//! What an endpoint knows besides its carriers: the message layer, the memory of operations, the peers.

use std::collections::{HashMap, VecDeque};

use slab::Slab;
use tasuki_msg::{Config, EarlyId, Pacer, PeerId, PeerOptions, RecvId, SendId, SendRequest, UnknownPeer};
use tasuki_proto::ConnId;

use crate::address::Address;
use crate::api::{Completion, Peer, Report};
use crate::bulk::Bulk;
use crate::dual_copy::DualCopies;
use crate::memory::Memory;
use crate::offers::Offers;
use crate::peer::{PeerState, Way};
use crate::rails::RailTable;
use crate::remote::RemoteDone;
use crate::service::{Part, Service};
use crate::static_rate::Receivers;
use crate::stream::Streams;
use crate::table::Table;

/// A send under way.
pub(crate) struct SendOp {
    /// Known once the message layer has taken it.
    pub id: Option<SendId>,
    pub memory: Memory,
    pub context: u64,
    pub peer: Peer,
    pub tagged: bool,
    pub report: Report,
    /// The program has been told that it is over: its bytes are a copy.
    pub reported: bool,
    /// The key under which its receiver may take it, as length-coded bulk or by stream.
    pub offer: Option<u64>,
    /// It is not the program's, but part of a one-sided transfer.
    pub part: Option<Part>,
}

impl SendOp {
    /// Part of a one-sided transfer.
    pub fn of_service(peer: Peer, memory: Memory, part: Part) -> SendOp {
        let (id, context, part) = (None, 0, Some(part));
        let (report, reported, offer) = (Report::Failure, false, None);
        SendOp { id, memory, context, peer, tagged: true, report, reported, offer, part }
    }
}

/// A receive under way.
pub(crate) struct RecvOp {
    pub id: Option<RecvId>,
    pub memory: Memory,
    pub context: u64,
    pub tagged: bool,
    pub report: Report,
    pub multi: bool,
    /// It is not the program's, but part of a one-sided transfer.
    pub part: Option<Part>,
}

impl RecvOp {
    /// Part of a one-sided transfer.
    pub fn of_service(memory: Memory, part: Part) -> RecvOp {
        let (id, context, part) = (None, 0, Some(part));
        RecvOp { id, memory, context, tagged: true, report: Report::Failure, multi: false, part }
    }
}

/// The part of an endpoint that carriers call.
pub(crate) struct Core {
    pub address: Address,
    pub msg: tasuki_msg::Endpoint<Pacer>,
    pub sends: Slab<SendOp>,
    pub recvs: Table<RecvOp>,
    /// Early parts of messages that nobody has asked for, by `EarlyId::index`.
    early: Vec<Vec<u8>>,
    /// Buffers for copies, ready for use.
    spare: Vec<Vec<u8>>,
    /// Bytes of sends that were reported as complete although they wait in copies.
    pub copied: u64,
    pub peers: Vec<PeerState>,
    by_name: HashMap<(u64, u32), Peer>,
    /// Peers by the index of their connection.
    by_conn: Vec<Option<Peer>>,
    /// Peers that broke the protocol: to be declared failed when no carrier is at work.
    pub broken: Vec<(Peer, String)>,
    /// Peers that have said goodbye, or were said goodbye to.
    pub parted: Vec<Peer>,
    pub rails: RailTable,
    pub completions: VecDeque<Completion>,
    pub service: Service,
    /// One-sided transfers that are over.
    pub remote: VecDeque<RemoteDone>,
    /// MTU of the routed way, bytes.
    pub routed_mtu: u16,
    /// What senders were told of receivers, in static mode.
    pub receivers: Option<Receivers>,
    /// Sends that are offered to their receivers.
    pub offers: Offers,
    /// Length-coded bulk, if it was asked for.
    pub bulk: Option<Box<Bulk>>,
    /// Long messages by TCP, if they are allowed.
    pub streams: Option<Box<Streams>>,
    /// There is something to be done for streams at each look.
    pub streaming: bool,
    /// Messages that both ends copy.
    pub dual_copies: DualCopies,
}

/// Copies of this size are kept for reuse, bytes.
const SPARE_CAPACITY: usize = 16 << 10;
/// So many of them.
const SPARE_COUNT: usize = 64;

impl Core {
    pub fn new(address: Address, config: Config, pacer: Pacer, rails: RailTable, routed_mtu: u16) -> Core {
        Core {
            address,
            msg: tasuki_msg::Endpoint::new(config, pacer),
            sends: Slab::new(),
            recvs: Table::new(),
            early: Vec::new(),
            spare: Vec::new(),
            copied: 0,
            peers: Vec::new(),
            by_name: HashMap::new(),
            by_conn: Vec::new(),
            broken: Vec::new(),
            parted: Vec::new(),
            rails,
            completions: VecDeque::new(),
            service: Service::default(),
            remote: VecDeque::new(),
            routed_mtu,
            receivers: None,
            offers: Offers::default(),
            bulk: None,
            streams: None,
            streaming: false,
            dual_copies: DualCopies::default(),
        }
    }

    /// The peer with this address, made known if it is new.
    pub fn peer(&mut self, address: &Address) -> Peer {
        if let Some(peer) = self.by_name.get(&(address.incarnation, address.endpoint)) {
            return *peer;
        }
        // The carrier is not chosen yet: nothing travels before it is, and the choice sets the options.
        let id = self.msg.add_peer(PeerOptions { inline_max: 0, pull: false });
        let peer = Peer(id.index() as u32);
        self.by_name.insert((address.incarnation, address.endpoint), peer);
        self.peers.push(PeerState::new(id, *address));
        debug_assert_eq!(self.peers.len(), id.index() + 1);
        peer
    }

    #[inline(always)]
    pub fn state(&self, peer: Peer) -> Option<&PeerState> {
        self.peers.get(peer.0 as usize)
    }

    pub fn state_mut(&mut self, peer: Peer) -> Option<&mut PeerState> {
        self.peers.get_mut(peer.0 as usize)
    }

    #[inline(always)]
    pub fn id(&self, peer: Peer) -> Option<PeerId> {
        self.state(peer).map(|state| state.id)
    }

    /// The bytes of an early buffer; empty if it was never filled.
    pub fn early(&self, id: EarlyId) -> &[u8] {
        self.early.get(id.index()).map_or(&[], Vec::as_slice)
    }

    /// Puts bytes into an early buffer, which is made if it is new.
    pub fn write_early(&mut self, id: EarlyId, size: u64, offset: u64, bytes: &[u8]) {
        if self.early.len() <= id.index() {
            self.early.resize_with(id.index() + 1, Vec::new);
        }
        // The message layer bounds `size` by the credit that was given, that is by the pool.
        let size = size as usize;
        if self.early[id.index()].len() != size {
            let mut room = self.spare.pop().unwrap_or_default();
            room.clear();
            room.resize(size, 0);
            self.early[id.index()] = room;
        }
        let offset = offset as usize;
        if let Some(place) = self.early[id.index()].get_mut(offset..offset + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// The early buffer is empty again.
    pub fn free_early(&mut self, id: EarlyId) {
        if let Some(buffer) = self.early.get_mut(id.index()) {
            let buffer = std::mem::take(buffer);
            self.recycle(buffer);
        }
    }

    /// A buffer for a copy of `len` bytes.
    pub fn spare(&mut self, len: usize) -> Vec<u8> {
        if len > SPARE_CAPACITY {
            return Vec::with_capacity(len);
        }
        self.spare.pop().unwrap_or_else(|| Vec::with_capacity(SPARE_CAPACITY.min(len.next_power_of_two())))
    }

    pub fn recycle(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() <= SPARE_CAPACITY && buffer.capacity() > 0 && self.spare.len() < SPARE_COUNT {
            self.spare.push(buffer);
        }
    }

    /// Where the peer could read the bytes of a send itself: in the program's own memory, if it is on this host.
    pub fn remote_key(&self, peer: Peer, memory: &Memory) -> Option<u64> {
        let shared = self.state(peer).is_some_and(|state| matches!(state.way, Way::Shared(_)));
        memory.contiguous().filter(|_| shared).map(|ptr| ptr as u64)
    }

    /// Hands a send to the message layer, under the key that is returned.
    pub fn post_send(&mut self, op: SendOp, request: SendRequest) -> Result<usize, UnknownPeer> {
        let key = self.sends.insert(op);
        match self.msg.post_send(SendRequest { user: key as u64, ..request }) {
            Ok(id) => {
                self.sends[key].id = Some(id);
                Ok(key)
            }
            Err(error) => {
                self.sends.remove(key);
                Err(error)
            }
        }
    }

    /// Hands a receive to the message layer by `post`, which is given the key under which it is known here.
    pub fn post_recv<E>(
        &mut self,
        op: RecvOp,
        post: impl FnOnce(&mut tasuki_msg::Endpoint<Pacer>, u64) -> Result<RecvId, E>,
    ) -> Result<(), E> {
        // Whatever the message layer asks for is done later.
        let id = post(&mut self.msg, self.recvs.next_key() as u64)?;
        self.recvs.insert(RecvOp { id: Some(id), ..op });
        Ok(())
    }

    /// Notes which peer a connection leads to.
    pub fn bind_conn(&mut self, conn: ConnId, peer: Option<Peer>) {
        let index = conn.index();
        if self.by_conn.len() <= index {
            self.by_conn.resize(index + 1, None);
        }
        self.by_conn[index] = peer;
    }

    /// The program has something under way that comes to an end. (What takes any number of messages is posted in advance.)
    pub fn is_awaited(&self) -> bool {
        !self.sends.is_empty() || self.recvs.iter().any(|recv| !recv.multi && recv.part.is_none())
    }

    /// No peer is on another host, as far as is known.
    pub fn is_alone(&self) -> bool {
        self.peers.iter().all(|state| state.conn.is_none())
    }

    /// The peer that a connection leads to.
    pub fn peer_of(&self, conn: ConnId) -> Option<Peer> {
        self.by_conn.get(conn.index()).copied().flatten()
    }
}
