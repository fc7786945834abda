//! Where the two layers meet: the upcalls of the packet layer, answered by the message layer, while the
//! oracle sees everything that passes. The engine proper does the same with real memory.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use tasuki_frames::{incoming, outgoing};
use tasuki_msg::PeerOptions;
use tasuki_proto::{ConnId, Outgoing, Payload, Upcalls};
use tasuki_wire::{Frame, Greeting, Rail, RefuseReason};

use super::laziness::Laziness;
use super::network::Network;
use tasuki_testkit::Check;
use tasuki_testkit::oracle::Oracle;

/// The connections of one node, and the nodes to which they lead.
#[derive(Default)]
pub(crate) struct Conns {
    pub of_conn: BTreeMap<ConnId, usize>,
    pub of_node: BTreeMap<usize, ConnId>,
    /// Connections accepted since the message layer was last told how long a `Start` may be.
    pub fresh: Vec<(ConnId, usize)>,
}

/// The names by which nodes are found: (endpoint, incarnation) to (node, place).
pub(crate) type Directory = BTreeMap<(u32, u64), (usize, usize)>;

pub(crate) struct EngineUpcalls<'a> {
    pub oracle: &'a mut Oracle,
    pub node: usize,
    pub place: usize,
    pub conns: &'a mut Conns,
    pub network: &'a Network,
    pub directory: &'a Directory,
    pub laziness: &'a mut Laziness,
    /// Unknown peers are refused.
    pub leaving: bool,
    /// The connection is being aborted, so a release of payload does not mean that it was delivered.
    pub giving_up: bool,
    /// The first complaint.
    pub complaint: Option<String>,
    /// Number of frames that were delivered.
    pub delivered: u64,
}

/// Payload in a `Start` until the packet layer has told how much fits, bytes: little enough for every packet.
const CAREFUL: u64 = 256;

impl EngineUpcalls<'_> {
    fn check<T>(&mut self, result: Check<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(complaint) => {
                self.complaint.get_or_insert(complaint);
                None
            }
        }
    }

    fn peer_of(&mut self, conn: ConnId) -> Check<usize> {
        let there = self.conns.of_conn.get(&conn).copied();
        there.ok_or_else(|| format!("node {}: the packet layer speaks of {conn:?}, which is over", self.node))
    }

    fn accept_known(&mut self, conn: ConnId, there: usize, place: usize) -> Result<Vec<Rail>, RefuseReason> {
        let here = &self.oracle.nodes[self.node];
        let gone = here.peer_for(there).is_some_and(|peer| !here.lives(peer));
        if gone || self.leaving {
            self.oracle.cover(if gone { "hello of one that is gone refused" } else { "hello refused" });
            return Err(if gone { RefuseReason::GivenUp } else { RefuseReason::Leaving });
        }
        if let Some(old) = self.conns.of_node.get(&there) {
            self.complaint.get_or_insert(format!(
                "node {}: {there} opens {conn:?} beside {old:?}, which is not over",
                self.node
            ));
            return Err(RefuseReason::Leaving);
        }
        if !self.oracle.nodes[there].alive {
            self.oracle.cover("hello of a dead endpoint accepted");
        }
        let options = PeerOptions { inline_max: CAREFUL, pull: false };
        self.oracle.acquaint(self.node, there, options);
        self.oracle.cover("hello accepted");
        self.conns.of_conn.insert(conn, there);
        self.conns.of_node.insert(there, conn);
        self.conns.fresh.push((conn, there));
        Ok(self.network.rails(self.place, place))
    }
}

impl Upcalls for EngineUpcalls<'_> {
    fn accept(&mut self, conn: ConnId, greeting: &Greeting<'_>) -> Result<Vec<Rail>, RefuseReason> {
        let Some(&(there, place)) = self.directory.get(&(greeting.endpoint, greeting.incarnation)) else {
            self.complaint.get_or_insert(format!("a greeting from nobody: {greeting:?}"));
            return Err(RefuseReason::Leaving);
        };
        self.accept_known(conn, there, place)
    }

    fn next(&mut self, conn: ConnId, room: usize) -> Option<Outgoing> {
        let there = self.peer_of(conn);
        let there = self.check(there)?;
        let peer = self.oracle.nodes[self.node].peer_for(there)?;
        let next = self.oracle.next_frame(self.node, peer, NonZeroU64::new(room as u64)?);
        let (transmit, key) = self.check(next)??;
        let len = transmit.frame.payload_len();
        Some(outgoing(&transmit.frame, key.map(|key| Payload { key, offset: 0, len })))
    }

    fn read(&mut self, _: ConnId, payload: &Payload, offset: u64, into: &mut [u8]) {
        let read = self.oracle.read_payload(self.node, payload.key, offset, into);
        self.check(read);
    }

    fn released(&mut self, _: ConnId, payload: &Payload) {
        let released = self.oracle.release_payload(self.node, payload.key, self.giving_up);
        self.check(released);
    }

    fn deliver(&mut self, conn: ConnId, frame: &Frame<'_>) {
        let from = self.peer_of(conn);
        let Some(from) = self.check(from) else { return };
        let Some((frame, payload)) = incoming(frame) else {
            self.complaint.get_or_insert(format!("delivered to the message layer: {frame:?}"));
            return;
        };
        self.delivered += 1;
        let arrived = self.oracle.arrive(from, self.node, &frame, payload, true);
        self.check(arrived);
        // A goodbye changes what the model expects of the next call, so its events are not left waiting.
        let here = &self.oracle.nodes[self.node];
        let parted =
            here.peer_for(from).and_then(|peer| here.ep.peer_status(peer)).is_some_and(|peer| peer.gone);
        if parted || !self.laziness.draw() {
            let settled = self.oracle.settle(self.node);
            self.check(settled);
        }
    }
}
