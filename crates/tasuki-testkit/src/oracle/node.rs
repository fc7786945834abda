//! What the oracle holds for each endpoint: the buffers of its engine and its program, the frames that a
//! carrier may still read, and what the naive model expects.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tasuki_msg::{
    ClaimId, EarlyId, Endpoint, Epoch, Failure, Gone, Pacer, PeerId, PullId, RecvDone, RecvId, SendId,
};

use crate::model::{Match, Message, Model};

/// A receive with its buffer.
pub struct RecvBuf {
    /// The operation.
    pub id: RecvId,
    /// The buffer, and behind its capacity [`crate::content::GUARD`].
    pub bytes: Vec<u8>,
    /// Size of the buffer, bytes.
    pub capacity: u64,
    /// Messages that the receive has got and that are not complete. `true`: the sender is gone, so it must
    /// fail.
    pub outstanding: Vec<(Match, bool)>,
    /// The receive takes further messages.
    pub open: bool,
    /// How it must end once nothing is outstanding, if not with a message.
    pub ending: Option<Failure>,
    /// The last event of the receive has come.
    pub over: bool,
    /// What it has received, in order.
    pub done: Vec<RecvDone>,
}

/// A copy out of a sender's memory that an endpoint has asked for.
pub struct Pull {
    /// Id of the pull.
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
    /// Id of the claim.
    pub id: ClaimId,
    /// The message.
    pub message: Message,
    /// The message is lost, because its sender is gone.
    pub lost: Option<Gone>,
}

/// A buffer with the early part of a message.
pub struct EarlyBuf {
    /// Id of the buffer.
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

/// A node as it is known to another node, or to itself.
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
    /// The process lives.
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

    /// The peer is gone, but its carrier still holds frames: it must not read the program's buffers any more.
    pub(super) fn detach(&mut self, peer: PeerId) {
        for out in self.frames.values_mut().filter(|out| out.peer == peer) {
            out.detached = true;
        }
    }
}
