//! What the packet layer calls: frames to send, their payload, and frames that have arrived.

use std::num::NonZeroU64;

use tasuki_msg::PeerOptions;
use tasuki_proto::{ConnId, Outgoing, Payload, Upcalls};
use tasuki_wire::{Greeting, Rail, RefuseReason};

use super::rails::Host;
use crate::address::Address;
use crate::api::Peer;
use crate::messages::Messages;
use crate::peers::{Peers, Route};

/// The parts of the endpoint above the packet layer, while that is at work.
pub(super) struct Above<'a> {
    pub messages: &'a mut Messages,
    pub peers: &'a mut Peers,
    pub host: &'a Host,
}

impl Above<'_> {
    /// The peer that greets.
    fn greeter(&mut self, greeting: &Greeting<'_>) -> Peer {
        let address = Address {
            identity: greeting.identity,
            port: greeting.port,
            endpoint: greeting.endpoint,
            incarnation: greeting.incarnation,
            secret: greeting.secret.0,
        };
        self.peers.find_or_add(&address, || self.messages.add_peer())
    }
}

impl Upcalls for Above<'_> {
    fn accept(&mut self, conn: ConnId, greeting: &Greeting<'_>) -> Result<Vec<Rail>, RefuseReason> {
        let peer = self.greeter(greeting);
        let record = self.peers.get(peer).ok_or(RefuseReason::Leaving)?;
        if record.failure.is_some() {
            return Err(RefuseReason::GivenUp);
        }
        if record.gone {
            return Err(RefuseReason::Leaving);
        }
        let id = record.id;
        if record.route == Route::Unknown && self.host.fetches {
            // What the peer sends may be fetched before anything has been sent to it.
            self.messages.set_options(id, PeerOptions { inline_max: 0, pull: true });
        }
        self.peers.bind_conn(conn, peer);
        self.messages.layer_mut().introduce(id);
        Ok(self.host.own_ends(greeting.identity))
    }

    fn refusing(&mut self, conn: ConnId, greeting: &Greeting<'_>) {
        // The refusal must find its way.
        let peer = self.greeter(greeting);
        self.peers.lead_conn(conn, peer);
    }

    fn next(&mut self, conn: ConnId, room: usize) -> Option<Outgoing> {
        let id = self.peers.id(self.peers.by_conn(conn)?)?;
        let room = NonZeroU64::new(room as u64)?;
        self.messages.next_frame(id, room)
    }

    fn read(&mut self, _conn: ConnId, payload: &Payload, offset: u64, into: &mut [u8]) {
        self.messages.read_packet(payload.key, payload.offset + offset, into);
    }

    fn released(&mut self, _conn: ConnId, payload: &Payload) {
        self.messages.release_payload(payload.key);
    }

    fn deliver(&mut self, conn: ConnId, frame: &tasuki_wire::Frame<'_>) {
        let Some(peer) = self.peers.by_conn(conn) else { return };
        let Some(id) = self.peers.id(peer) else { return };
        if let Some((frame, payload)) = tasuki_frames::incoming(frame) {
            if matches!(frame, tasuki_msg::Frame::Bye { .. })
                && let Some(record) = self.peers.get_mut(peer)
            {
                record.said_bye = true;
            }
            self.messages.deliver(id, &frame, &payload);
        }
    }
}
