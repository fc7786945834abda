//! What the oracle holds for each endpoint: the buffers of its engine and its program, the frames that a
//! carrier may still read, and what the naive model expects.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tasuki_msg::{
    ClaimId, EarlyId, Endpoint, Epoch, Failure, Gone, Pacer, PeerId, PullId, Queue, RecvDone, RecvId, SendId,
};

use super::SendSpec;
use crate::content::{self, Pieces};
use crate::model::{Match, Message, Model};

/// What has become of a message at its receiver, according to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// Neither received nor discarded.
    Waiting,
    /// A receive has got it, and has room for `take` bytes of it.
    Matched {
        /// Bytes.
        take: u64,
    },
    /// Discarded by a probe.
    Discarded,
}

/// A message of a program, and its send operation.
pub struct Sent {
    /// The sending node.
    pub from: usize,
    /// The receiving node.
    pub to: usize,
    /// What `from` calls `to`.
    pub peer: PeerId,
    /// The operation; `None` if the message took the fast path, which ends a send within the call.
    pub send: Option<SendId>,
    /// Queue that it is for.
    pub queue: Queue,
    /// Tag as the receiver sees it: 0 on the untagged queue.
    pub tag: u64,
    /// Remote completion data.
    pub data: Option<u64>,
    /// Length, bytes.
    pub len: u64,
    /// Key to the sender's memory.
    pub remote_key: Option<u64>,
    /// The send buffer; overwritten when the operation is over.
    pub bytes: Vec<u8>,
    /// The program wants to know of the delivery.
    pub delivery: bool,
    /// A frame of it has left.
    pub started: bool,
    /// Its `Start` has arrived.
    pub start_arrived: bool,
    /// Its bytes that have arrived.
    pub arrived: Pieces,
    /// A carrier has copied some of its payload and released it at once.
    pub copied: bool,
    /// Some of it came to a receiver for which the sender was gone.
    pub refused: bool,
    /// Frames with payload that carriers have not released.
    pub unreleased: u32,
    /// The program has cancelled it in time.
    pub cancelled: bool,
    /// How the operation has ended.
    pub result: Option<Result<(), Failure>>,
    /// What has become of it at the receiver.
    pub state: MessageState,
}

impl Sent {
    /// A message that has not been posted yet. `name` decides its bytes.
    pub(super) fn new((from, to, peer): (usize, usize, PeerId), spec: SendSpec, name: usize) -> Sent {
        let SendSpec { queue, tag, data, len, delivery, remote_key, .. } = spec;
        let mut bytes = vec![0; len as usize];
        content::fill(name, 0, &mut bytes);
        Sent {
            from,
            to,
            peer,
            send: None,
            queue,
            tag: if queue == Queue::Msg { 0 } else { tag },
            data,
            len,
            remote_key,
            bytes,
            delivery,
            started: false,
            start_arrived: false,
            arrived: Pieces::default(),
            copied: false,
            refused: false,
            unreleased: 0,
            cancelled: false,
            result: None,
            state: MessageState::Waiting,
        }
    }

    /// Whether these bytes have arrived, or came to a receiver that did not want them any more.
    pub(super) fn arrived_within(&self, offset: u64, len: u64) -> bool {
        self.refused || self.arrived.covers(offset, len) || (len == 0 && self.start_arrived)
    }

    /// Whether all its bytes have arrived.
    pub fn whole(&self) -> bool {
        self.arrived.total() == self.len
    }

    /// Whether all bytes that the receiver wants have arrived.
    pub(super) fn satisfied(&self) -> bool {
        match self.state {
            MessageState::Matched { take } => self.arrived.total() >= take,
            MessageState::Discarded => true,
            MessageState::Waiting => self.whole() && !self.delivery,
        }
    }
}

/// A receive with its buffer.
pub struct RecvBuf {
    /// The operation.
    pub id: RecvId,
    /// The buffer, and behind its capacity [`content::GUARD`].
    pub bytes: Vec<u8>,
    /// Size of the buffer, bytes.
    pub capacity: u64,
    /// Messages that the receive has got and that are not complete. `true`: the sender is gone, so it must
    /// fail.
    pub outstanding: Vec<(Match, bool)>,
    /// It takes further messages.
    pub open: bool,
    /// How it must end once nothing is outstanding, if not with a message.
    pub ending: Option<Failure>,
    /// Its last event has come.
    pub over: bool,
    /// What it has received, in order.
    pub done: Vec<RecvDone>,
}

/// A copy out of a sender's memory that an endpoint has asked for.
pub struct Pull {
    /// Its id.
    pub pull: PullId,
    /// Name of the message.
    pub name: usize,
    /// First byte in the message.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// Name of the receive.
    pub recv: usize,
    /// Place in the receive's buffer.
    pub at: u64,
}

/// A message that a probe has reserved.
pub struct Claim {
    /// Its id.
    pub id: ClaimId,
    /// The message.
    pub message: Message,
    /// The message is lost, because its sender is gone.
    pub lost: Option<Gone>,
}

/// A buffer with the early part of a message.
pub struct EarlyBuf {
    /// Its id.
    pub id: EarlyId,
    /// The sender.
    pub peer: PeerId,
    /// The early part.
    pub bytes: Vec<u8>,
}

/// A frame with payload that a carrier has taken and not released.
#[derive(Clone, Copy, Debug)]
pub struct FrameOut {
    /// The receiver.
    pub peer: PeerId,
    /// The send that the payload belongs to.
    pub send: SendId,
    /// Name of the message.
    pub name: usize,
    /// First byte in the message.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// The send is over because the peer is gone: its buffer must not be read any more.
    pub detached: bool,
}

/// What the counters of one peer must say.
#[derive(Clone, Copy, Default)]
pub struct Tally {
    /// Messages whose turn has come.
    pub received: u64,
    /// Messages matched with a receive.
    pub matched: u64,
    /// Messages discarded.
    pub discarded: u64,
}

/// A node as another one, or the same, knows it.
#[derive(Clone, Copy)]
pub struct Acquaintance {
    /// The node that is known.
    pub there: usize,
    /// What it is called.
    pub peer: PeerId,
    /// The endpoint may have frames for it that no carrier has taken yet.
    pub active: bool,
}

/// One endpoint with everything that its engine and its program hold.
pub struct Node {
    /// The endpoint.
    pub ep: Endpoint<Pacer>,
    /// Its process lives.
    pub alive: bool,
    /// What receives and messages should do here.
    pub model: Model,
    /// The nodes that it knows, in the order of acquaintance.
    pub peers: Vec<Acquaintance>,
    /// Peers that are gone.
    pub gone: BTreeMap<PeerId, Gone>,
    /// Peers from which the program has parted.
    pub closing: BTreeSet<PeerId>,
    /// The receives; the index of a receive is its name.
    pub recvs: Vec<RecvBuf>,
    /// Early buffers by [`EarlyId::index`].
    pub early: BTreeMap<usize, EarlyBuf>,
    /// Bytes in early buffers.
    pub pool: u64,
    /// Bytes in early buffers, by sender.
    pub pool_of: BTreeMap<PeerId, u64>,
    /// Claims that have not been used.
    pub claims: Vec<Claim>,
    /// Pulls that have not been carried out.
    pub pulls: Vec<Pull>,
    /// Payload that carriers have not released, by key.
    pub frames: BTreeMap<u64, FrameOut>,
    /// Number of keys given out.
    pub frames_made: u64,
    /// Peers that are gone and whose carrier has not been told.
    pub parted: VecDeque<PeerId>,
    /// The request for silence that stands.
    pub asked: Option<Epoch>,
    /// All peers have agreed to that request.
    pub silent: bool,
    /// What the counters must say, by peer.
    pub tally: BTreeMap<PeerId, Tally>,
}

impl Node {
    pub(super) fn new(ep: Endpoint<Pacer>) -> Node {
        Node {
            ep,
            alive: true,
            model: Model::default(),
            peers: Vec::new(),
            gone: BTreeMap::new(),
            closing: BTreeSet::new(),
            recvs: Vec::new(),
            early: BTreeMap::new(),
            pool: 0,
            pool_of: BTreeMap::new(),
            claims: Vec::new(),
            pulls: Vec::new(),
            frames: BTreeMap::new(),
            frames_made: 0,
            parted: VecDeque::new(),
            asked: None,
            silent: false,
            tally: BTreeMap::new(),
        }
    }

    /// What this node calls another one.
    pub fn peer_for(&self, node: usize) -> Option<PeerId> {
        self.peers.iter().find(|known| known.there == node).map(|known| known.peer)
    }

    /// The node that this one calls `peer`.
    pub fn node_for(&self, peer: PeerId) -> Option<usize> {
        self.peers.iter().find(|known| known.peer == peer).map(|known| known.there)
    }

    /// Whether the peer is not gone.
    pub fn lives(&self, peer: PeerId) -> bool {
        !self.gone.contains_key(&peer)
    }

    /// Notes whether the endpoint may have frames for a peer.
    pub fn set_active(&mut self, peer: PeerId, active: bool) {
        if let Some(known) = self.peers.iter_mut().find(|known| known.peer == peer) {
            known.active = active;
        }
    }
}
