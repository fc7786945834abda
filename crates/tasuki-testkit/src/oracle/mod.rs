//! The oracle of message layers: it sees all endpoints and all messages, which no endpoint does, and compares
//! what the endpoints do, event by event, with a naive model ([`crate::model`]).
//!
//! The oracle also does an engine's work, as plainly as possible: it holds the buffers and carries out the
//! actions of the endpoints. Its user carries the frames: it takes them with [`Oracle::next_frame`], brings
//! them to their receivers with [`Oracle::arrive`], in any order, and releases their payload with
//! [`Oracle::release_payload`].
//!
//! Every method returns what went wrong as text.

mod actions;
mod audit;
mod calls;
mod frames;
mod link;
mod node;
mod sent;
mod specs;

use std::collections::BTreeMap;

use tasuki_msg::{Config, Endpoint, Pacer, PeerId, PeerOptions};

pub use link::Link;
pub use node::{Acquaintance, Claim, EarlyBuf, FrameOut, Node, Pull, RecvBuf, Tally};
pub use sent::{MessageState, Sent};
pub use specs::{RecvSpec, SendSpec};

use crate::Check;
use crate::coverage::Coverage;
use crate::trace::Trace;

/// All endpoints with their engines and programs, all messages, and what is known about them.
pub struct Oracle {
    /// Configuration of every endpoint.
    pub config: Config,
    /// The nodes; those that have died remain.
    pub nodes: Vec<Node>,
    /// All messages; the index of a message is its name.
    pub sent: Vec<Sent>,
    /// By sender and receiver.
    pub links: BTreeMap<(usize, usize), Link>,
    /// What has happened, and how often.
    pub coverage: Coverage,
    /// What has happened, in order.
    pub trace: Trace,
    /// Virtual time, ns; 0 if its user knows no time.
    pub now_ns: u64,
    /// Nodes can read each other's memory, so a message may be pulled. Otherwise a pull is an error.
    pub shares_memory: bool,
}

impl Oracle {
    /// Without any node.
    pub fn new(config: Config, trace: Trace) -> Oracle {
        Oracle {
            config,
            nodes: Vec::new(),
            sent: Vec::new(),
            links: BTreeMap::new(),
            coverage: Coverage::default(),
            trace,
            now_ns: 0,
            shares_memory: false,
        }
    }

    /// Adds a node that knows no other; returns its number.
    pub fn add_node(&mut self, ep: Endpoint<Pacer>) -> usize {
        self.nodes.push(Node::new(ep));
        self.nodes.len() - 1
    }

    /// Makes `there` known to `here`; returns what `here` calls it. Changes nothing if it is known already.
    pub fn acquaint(&mut self, here: usize, there: usize, options: PeerOptions) -> PeerId {
        if let Some(peer) = self.nodes[here].peer_for(there) {
            return peer;
        }
        let peer = self.nodes[here].ep.add_peer(options);
        self.note(|| format!("node {here} gets to know {there} as {peer}"));
        self.nodes[here].peers.push(Acquaintance { there, peer, active: false });
        self.nodes[here].silent = false;
        self.links.entry((here, there)).or_default();
        peer
    }

    /// The nodes that are alive.
    pub fn living(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&at| self.nodes[at].alive).collect()
    }

    /// All ordered pairs of nodes that are alive and know each other as living: both nodes, what the first
    /// calls the second, and what the second calls the first.
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

    /// What `from` has sent to `to`.
    pub fn link(&mut self, from: usize, to: usize) -> Check<&mut Link> {
        self.links.get_mut(&(from, to)).ok_or_else(|| format!("{from} and {to} are not acquainted"))
    }

    /// Frames under way from one node to another that a promise of silence, or a goodbye, forbids.
    fn noise(&self, from: usize, to: usize) -> u64 {
        self.links.get(&(from, to)).map_or(0, Link::noise)
    }

    /// Checks that a node's memory is bounded: early buffers by the pool, envelopes by the sends that are
    /// open at their senders.
    pub fn audit(&self, node: usize) -> Check {
        audit::memory(self, node)
    }

    /// To be called when everything has been delivered and received: checks that nothing is left over.
    pub fn audit_rest(&self) -> Check {
        audit::rest(self)
    }

    /// The state of the message layers as text, for complaints.
    pub fn dump(&self) -> String {
        audit::dump(self)
    }

    /// Counts that something happened.
    pub fn cover(&mut self, what: &'static str) {
        self.coverage.add(what, 1);
    }

    /// Adds a line to the trace, with the time.
    pub fn note(&mut self, line: impl FnOnce() -> String) {
        let (us, ns) = (self.now_ns / 1000, self.now_ns % 1000);
        self.trace.note(|| format!("{us}.{ns:03} us: {}", line()));
    }
}
