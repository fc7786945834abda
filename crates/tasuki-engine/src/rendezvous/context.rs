//! What length-coded bulk and streams use of the endpoint.

use tasuki_proto::Time;

use crate::api::Peer;
use crate::messages::Messages;
use crate::net::Net;
use crate::peers::{PeerRecord, Peers};

/// The parts of the endpoint that the ways to fetch use.
pub(crate) struct Context<'a> {
    pub messages: &'a mut Messages,
    pub peers: &'a Peers,
    pub net: &'a Net,
    pub now: Time,
}

impl Context<'_> {
    /// What the directory knows of a peer.
    pub fn record(&self, peer: Peer) -> Option<&PeerRecord> {
        self.peers.get(peer)
    }

    /// Sends a control message to a peer.
    pub fn send_control(&mut self, peer: Peer, bytes: Vec<u8>) {
        self.messages.send_control(self.peers, peer, bytes);
    }
}
