//! All endpoints, all messages, and what is known about them: the oracle's view, which no endpoint has. Every
//! method returns what went wrong as text.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;

use tasuki_msg::{Config, Endpoint, Frame, Pacer, PeerId, PeerOptions};

use super::coverage::Coverage;
use super::defect::Plant;
use super::node::{Acquaintance, Node, Sent};
use super::trace::Trace;
use crate::Rng;
use crate::kernel::Time;

pub(crate) type Check<T = ()> = Result<T, String>;

/// What has been said from one node to another.
#[derive(Default)]
pub(crate) struct Link {
    /// Messages in the order of their posts, cancelled ones left out: a message's place is its sequence number.
    pub order: Vec<usize>,
    /// Those of `order` whose `Start` has left.
    pub started: usize,
    /// Those of `order` that are visible at the receiver.
    pub visible: usize,
    /// Frames without payload that have left and not arrived.
    pub controls: VecDeque<Frame>,
    /// Starts that have left and not arrived.
    pub starts_out: u64,
    /// Bytes in data frames that have left and not arrived.
    pub bytes_out: u64,
    /// Start, data and control frames that have arrived.
    pub arrived_frames: u64,
}

impl Link {
    /// Frames under way that a promise of silence (or a goodbye) forbids; a piece of data counts as one.
    pub fn noise(&self) -> u64 {
        let controls = self.controls.iter().filter(|frame| frame.counted()).count() as u64;
        controls + self.starts_out + u64::from(self.bytes_out > 0)
    }

    pub fn under_way(&self) -> bool {
        !self.controls.is_empty() || self.starts_out > 0 || self.bytes_out > 0
    }
}

pub(crate) struct Core {
    pub config: Config,
    pub pacer: Pacer,
    pub plant: Plant,
    pub nodes: Vec<Node>,
    pub sent: Vec<Sent>,
    pub links: BTreeMap<(usize, usize), Link>,
    pub coverage: Coverage,
    pub trace: Trace,
    pub now: Time,
    /// Senders know R and B of their receivers, and keep to the rate that follows.
    pub static_rate: Option<tasuki_rate::Static>,
    /// Percent of frames after which an engine does not look at the actions at once.
    pub lazy_percent: u64,
    /// Draws what engines do.
    pub dice: Rng,
}

impl Core {
    pub fn new(config: Config, pacer: impl Into<Pacer>, plant: Plant, trace: Trace) -> Core {
        Core {
            config,
            pacer: pacer.into(),
            plant,
            nodes: Vec::new(),
            sent: Vec::new(),
            links: BTreeMap::new(),
            coverage: Coverage::default(),
            trace,
            now: Time::ZERO,
            static_rate: None,
            lazy_percent: 0,
            dice: Rng::new(0),
        }
    }

    /// A new endpoint, which knows nobody.
    pub fn add_node(&mut self) -> usize {
        let mut ep = Endpoint::new(self.config, self.pacer.clone());
        self.plant.plant_msg(&mut ep);
        self.nodes.push(Node::new(ep));
        self.nodes.len() - 1
    }

    /// `here` gets to know `there`, if it did not.
    pub fn acquaint(&mut self, here: usize, there: usize, options: PeerOptions) -> PeerId {
        if let Some(peer) = self.nodes[here].peer_for(there) {
            return peer;
        }
        let peer = self.nodes[here].ep.add_peer(options);
        self.note(|| format!("node {here} gets to know {there} as {peer}"));
        self.nodes[here].peers.push(Acquaintance { there, peer, hungry: false });
        self.nodes[here].silent = false;
        self.links.entry((here, there)).or_default();
        peer
    }

    /// The engine handles more frames before it looks at the actions.
    pub fn lazy(&mut self) -> bool {
        self.lazy_percent > 0 && self.dice.chance(self.lazy_percent)
    }

    pub fn living(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&at| self.nodes[at].alive).collect()
    }

    /// Pairs of nodes that know each other as living.
    pub fn pairs(&self) -> Vec<(usize, usize, PeerId, PeerId)> {
        let mut pairs = Vec::new();
        for (a, here) in self.nodes.iter().enumerate().filter(|(_, node)| node.alive) {
            for known in here.peers.iter().filter(|known| here.lives(known.peer)) {
                let other = &self.nodes[known.there];
                if let Some(back) = other.peer_for(a).filter(|&back| other.alive && other.lives(back)) {
                    pairs.push((a, known.there, known.peer, back));
                }
            }
        }
        pairs
    }

    pub fn link(&mut self, from: usize, to: usize) -> Check<&mut Link> {
        self.links.get_mut(&(from, to)).ok_or_else(|| format!("{from} and {to} are not acquainted"))
    }

    pub fn cover(&mut self, what: &'static str) {
        self.coverage.add(what, 1);
    }

    pub fn note(&mut self, line: impl FnOnce() -> String) {
        let now = self.now;
        self.trace.note(|| format!("{now}: {}", line()));
    }
}

/// Fails with text unless the condition holds.
pub(crate) fn demand(holds: bool, complaint: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(complaint()) }
}

pub(crate) fn same<T: PartialEq + std::fmt::Debug>(what: impl Display, got: T, expected: T) -> Check {
    demand(got == expected, || format!("{what}: got {got:?}, expected {expected:?}"))
}
