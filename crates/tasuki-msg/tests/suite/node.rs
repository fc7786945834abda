//! One endpoint with everything that its engine and its program would hold: buffers, pending copies, and what the
//! naive model expects of it.

use std::collections::{BTreeMap, BTreeSet};

use tasuki_msg::{
    ClaimId, EarlyId, Endpoint, Epoch, Failure, Gone, PeerId, PullId, RecvDone, RecvId, SendId, Window,
};

use tasuki_sim::model::{Match, Message, Model};

/// Written behind every receive buffer; must never change.
pub const GUARD: [u8; 16] = [0xA5; 16];

/// What has become of a message at its receiver, in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Waiting,
    Matched { take: u64 },
    Discarded,
}

/// A message of the program, and its send operation.
pub struct Sent {
    pub from: usize,
    pub to: usize,
    /// The peer that `to` is for `from`.
    pub peer: PeerId,
    pub send: SendId,
    /// As the receiver sees it.
    pub message: Message,
    /// The send buffer: overwritten when the operation is over.
    pub bytes: Vec<u8>,
    pub delivery: bool,
    pub started: bool,
    pub start_arrived: bool,
    pub arrived: u64,
    /// A carrier copied some of its payload and released it at once.
    pub copied: bool,
    /// Some of it came to a receiver that had parted.
    pub refused: bool,
    pub unreleased: u32,
    pub cancelled: bool,
    pub result: Option<Result<(), Failure>>,
    pub fate: Fate,
}

/// The byte at `at` of message `name`.
pub fn content(name: usize, at: u64) -> u8 {
    let mixed = (name as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(at.wrapping_mul(0xff51_afd7));
    (mixed >> 13) as u8
}

pub struct RecvBuf {
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

pub struct Pull {
    pub pull: PullId,
    pub name: usize,
    pub offset: u64,
    pub len: u64,
    pub recv: usize,
    pub at: u64,
}

pub struct Claim {
    pub id: ClaimId,
    pub message: Message,
    pub lost: Option<Gone>,
}

pub struct EarlyBuf {
    pub id: EarlyId,
    pub peer: PeerId,
    pub bytes: Vec<u8>,
}

/// What the counters of one peer must say.
#[derive(Default)]
pub struct Tally {
    pub received: u64,
    pub matched: u64,
    pub discarded: u64,
}

pub struct Node {
    pub ep: Endpoint<Window>,
    pub alive: bool,
    pub model: Model,
    /// (node, what it is called here), in the order of acquaintance.
    pub peers: Vec<(usize, PeerId)>,
    pub gone: BTreeMap<PeerId, Gone>,
    pub closing: BTreeSet<PeerId>,
    pub recvs: Vec<RecvBuf>,
    pub early: BTreeMap<usize, EarlyBuf>,
    pub claims: Vec<Claim>,
    pub pulls: Vec<Pull>,
    /// Named by `poll_active` and not drained yet.
    pub active: BTreeSet<PeerId>,
    pub asked: Option<Epoch>,
    /// All peers have agreed to be silent, and the request stands.
    pub silent: bool,
    pub tally: BTreeMap<PeerId, Tally>,
}

impl Node {
    pub fn new(ep: Endpoint<Window>) -> Node {
        Node {
            ep,
            alive: true,
            model: Model::default(),
            peers: Vec::new(),
            gone: BTreeMap::new(),
            closing: BTreeSet::new(),
            recvs: Vec::new(),
            early: BTreeMap::new(),
            claims: Vec::new(),
            pulls: Vec::new(),
            active: BTreeSet::new(),
            asked: None,
            silent: false,
            tally: BTreeMap::new(),
        }
    }

    pub fn peer_for(&self, node: usize) -> Option<PeerId> {
        self.peers.iter().find(|(there, _)| *there == node).map(|(_, peer)| *peer)
    }

    pub fn node_for(&self, peer: PeerId) -> Option<usize> {
        self.peers.iter().find(|(_, known)| *known == peer).map(|(there, _)| *there)
    }

    /// The peer takes part: not gone.
    pub fn lives(&self, peer: PeerId) -> bool {
        !self.gone.contains_key(&peer)
    }
}
