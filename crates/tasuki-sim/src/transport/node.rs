//! One endpoint with everything that its engine and its program would hold: buffers, frames that the carrier may
//! still read, and what the naive model expects of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tasuki_msg::{ClaimId, EarlyId, Endpoint, Epoch, Failure, Gone, Pacer, PeerId, RecvDone, RecvId, SendId};

use super::content::Pieces;
use crate::model::{Match, Message, Model};

/// What has become of a message at its receiver, in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Waiting,
    Matched { take: u64 },
    Discarded,
}

/// A message of the program, and its send operation.
pub(crate) struct Sent {
    pub from: usize,
    pub to: usize,
    /// The peer that `to` is for `from`.
    pub peer: PeerId,
    /// `None`: it went by the short cut.
    pub send: Option<SendId>,
    /// As the receiver sees it; its source is not known before the receiver knows the sender.
    pub queue: tasuki_msg::Queue,
    pub tag: u64,
    pub data: Option<u64>,
    pub len: u64,
    pub remote_key: Option<u64>,
    /// The send buffer: overwritten when the operation is over.
    pub bytes: Vec<u8>,
    pub delivery: bool,
    pub started: bool,
    pub start_arrived: bool,
    pub arrived: Pieces,
    /// A carrier copied some of its payload and released it at once (to oneself).
    pub copied: bool,
    /// Some of it came to a receiver that had parted.
    pub refused: bool,
    pub unreleased: u32,
    pub cancelled: bool,
    pub result: Option<Result<(), Failure>>,
    pub fate: Fate,
}

pub(crate) struct RecvBuf {
    pub id: RecvId,
    pub bytes: Vec<u8>,
    pub capacity: u64,
    /// Matched and not completed; `true`: its sender is gone, it must fail.
    pub outstanding: Vec<(Match, bool)>,
    /// Takes further messages.
    pub open: bool,
    /// How it must end once nothing is outstanding.
    pub ending: Option<Failure>,
    pub over: bool,
    /// What it received.
    pub done: Vec<RecvDone>,
}

pub(crate) struct Claim {
    pub id: ClaimId,
    pub message: Message,
    pub lost: Option<Gone>,
}

pub(crate) struct EarlyBuf {
    pub id: EarlyId,
    pub peer: PeerId,
    pub bytes: Vec<u8>,
}

/// A frame with payload that a carrier has and has not released.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameOut {
    pub peer: PeerId,
    pub send: SendId,
    pub name: usize,
    pub offset: u64,
    pub len: u64,
    /// The send is over because the peer is gone: its buffer must not be read any more.
    pub detached: bool,
}

/// What the counters of one peer must say.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub received: u64,
    pub matched: u64,
    pub discarded: u64,
}

/// Another endpoint, or this one, as this one knows it.
#[derive(Clone, Copy)]
pub(crate) struct Acquaintance {
    pub there: usize,
    pub peer: PeerId,
    /// It may have frames to send that the carrier has not fetched.
    pub hungry: bool,
}

pub(crate) struct Node {
    pub ep: Endpoint<Pacer>,
    pub alive: bool,
    pub model: Model,
    /// In the order of acquaintance.
    pub peers: Vec<Acquaintance>,
    pub gone: BTreeMap<PeerId, Gone>,
    /// The program has parted from these.
    pub closing: BTreeSet<PeerId>,
    pub recvs: Vec<RecvBuf>,
    pub early: BTreeMap<usize, EarlyBuf>,
    /// Bytes in `early`, of all and by peer.
    pub pool: u64,
    pub pool_of: BTreeMap<PeerId, u64>,
    pub claims: Vec<Claim>,
    pub frames: BTreeMap<u64, FrameOut>,
    pub frames_made: u64,
    /// Peers that are gone and whose carrier has not been told.
    pub parted: VecDeque<PeerId>,
    pub asked: Option<Epoch>,
    /// All peers have agreed to be silent, and the request stands.
    pub silent: bool,
    pub tally: BTreeMap<PeerId, Tally>,
}

impl Node {
    pub fn new(ep: Endpoint<Pacer>) -> Node {
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
            frames: BTreeMap::new(),
            frames_made: 0,
            parted: VecDeque::new(),
            asked: None,
            silent: false,
            tally: BTreeMap::new(),
        }
    }

    pub fn peer_for(&self, node: usize) -> Option<PeerId> {
        self.peers.iter().find(|known| known.there == node).map(|known| known.peer)
    }

    pub fn node_for(&self, peer: PeerId) -> Option<usize> {
        self.peers.iter().find(|known| known.peer == peer).map(|known| known.there)
    }

    /// The peer takes part: not gone.
    pub fn lives(&self, peer: PeerId) -> bool {
        !self.gone.contains_key(&peer)
    }

    pub fn set_hungry(&mut self, peer: PeerId, hungry: bool) {
        if let Some(known) = self.peers.iter_mut().find(|known| known.peer == peer) {
            known.hungry = hungry;
        }
    }
}
