//! Which way messages to a peer go, and what happens when the peer is gone.

use tasuki_msg::PeerOptions;
use tasuki_proto::{Remote, Time};
use tasuki_ring::{Cma, OpenError, Outbox, Token};

use crate::address::Address;
use crate::api::Peer;
use crate::peer::{Shared, Way};
use crate::state::State;
use crate::watch::tell;

/// Name of the segment of the endpoint with this address.
pub(crate) fn token_of(address: &Address) -> Token {
    Token::derive(&address.secret, address.incarnation, address.endpoint)
}

impl State {
    /// Something wants to go to `peer`.
    pub fn activate(&mut self, peer: Peer, now: Time) {
        self.choose_way(peer, now);
        match self.core.state(peer).map(|state| &state.way) {
            Some(Way::Own) => self.loop_back(peer),
            Some(Way::Shared(_)) => self.push_shared(peer),
            Some(Way::Packets(conn)) => self.proto.wake(*conn),
            Some(Way::Unknown | Way::Gone) | None => {}
        }
    }

    /// Chooses the way to a peer if none is chosen yet: shared memory if the peer is on this host, packets otherwise.
    //  "Same host" means that the peer's segment can be opened, never that names are equal.
    pub fn choose_way(&mut self, peer: Peer, now: Time) {
        let Some(state) = self.core.state(peer) else { return };
        if !matches!(state.way, Way::Unknown) || state.gone {
            return;
        }
        let (id, address) = (state.id, state.address);
        if address == self.core.address {
            self.set_way(peer, Way::Own);
            return self.set_options(id, PeerOptions { inline_max: u64::MAX, pull: false });
        }
        if self.segment.is_some() {
            match Outbox::open(&token_of(&address), &self.token) {
                Ok(outbox) => return self.share_with(peer, outbox),
                Err(OpenError::Dead { .. }) => {
                    return self.fail_peer(peer, "its process on this host is gone".to_owned());
                }
                // On another host; or here and out of reach: packets work in either case.
                Err(_) => {}
            }
        }
        self.connect(peer, now);
    }

    fn share_with(&mut self, peer: Peer, outbox: Outbox) {
        let Some(id) = self.core.id(peer) else { return };
        let cma = Cma::probe(&outbox);
        let shared = Shared { outbox, cma, introduced: false, waiting: None, refuses: false };
        let options = PeerOptions { inline_max: shared.room(), pull: shared.cma.is_some() };
        self.set_way(peer, Way::Shared(Box::new(shared)));
        self.set_options(id, options);
    }

    fn connect(&mut self, peer: Peer, now: Time) {
        // The greeting names them if they are there.
        self.look_for_lanes();
        self.patience.meets(now);
        let Some(state) = self.core.state(peer) else { return };
        let (id, address, conn) = (state.id, state.address, state.conn);
        let unanswered = conn.is_none().then_some(now);
        let conn = conn.unwrap_or_else(|| {
            let remote = Remote {
                endpoint: address.endpoint,
                incarnation: address.incarnation,
                secret: tasuki_wire::Secret(address.secret),
            };
            let rails = self.core.own_rails(address.identity);
            self.proto.connect(now, remote, &rails)
        });
        self.core.bind_conn(conn, Some(peer));
        self.tell_carriers(conn, now);
        if let Some(state) = self.core.state_mut(peer) {
            state.conn = Some(conn);
            state.way = Way::Packets(conn);
            state.unanswered = unanswered;
        }
        let inline_max = self.proto.start_room(conn) as u64;
        let pull = self.core.takes_offers();
        self.set_options(id, PeerOptions { inline_max, pull });
    }

    fn set_way(&mut self, peer: Peer, way: Way) {
        if let Some(state) = self.core.state_mut(peer) {
            state.way = way;
        }
    }

    fn set_options(&mut self, id: tasuki_msg::PeerId, options: PeerOptions) {
        // The peer is known: `id` comes from its record.
        let _ = self.core.msg.set_peer_options(id, options);
    }

    /// There is evidence that a peer is dead, or it broke the protocol: everything with it ends with an error, at once.
    pub fn fail_peer(&mut self, peer: Peer, reason: String) {
        let (closing, on_failure) = (self.closing, self.on_failure);
        let Some(state) = self.core.state_mut(peer) else { return };
        if state.reason.is_some() {
            return;
        }
        // Who leaves without having said a word to us need not say that it leaves.
        let stranger = state.doubt.as_ref().is_some_and(|doubt| doubt.is_stranger);
        if !state.gone && !closing && state.is_known() && !stranger {
            tell(&format!("{} has failed: {reason}", state.address));
            if let Some(on_failure) = on_failure {
                on_failure(&state.address);
            }
        }
        state.reason = Some(reason);
        state.doubt = None;
        let id = state.id;
        let way = std::mem::replace(&mut state.way, Way::Gone);
        // The carriers give the buffers back before the operations end.
        if let Way::Shared(mut shared) = way {
            if let Some(payload) = shared.waiting.take().and_then(|waiting| waiting.payload) {
                self.core.release_payload(payload.user);
            }
            self.core.dual_copies.keep(id, shared);
        }
        self.core.dual_copies.forget(peer);
        if let Some(bulk) = &mut self.core.bulk {
            bulk.forget(peer);
        }
        self.core.forget_streams(peer);
        self.drop_conn(peer);
        self.core.msg.handle_peer_failed(id);
    }

    fn drop_conn(&mut self, peer: Peer) {
        let Some(conn) = self.core.state_mut(peer).and_then(|state| state.conn.take()) else { return };
        self.proto.abort(conn, &mut self.core);
        self.core.bind_conn(conn, None);
    }

    /// Takes leave of peers that have parted: what is under way to them still gets there.
    pub fn part(&mut self) {
        while let Some(peer) = self.core.parted.pop() {
            let Some(state) = self.core.state_mut(peer) else { continue };
            let (id, conn) = (state.id, state.conn);
            match std::mem::replace(&mut state.way, Way::Gone) {
                Way::Shared(shared) if shared.waiting.is_none() => self.core.dual_copies.keep(id, shared),
                way => state.way = way,
            }
            if let Some(conn) = conn {
                self.proto.close(conn);
            }
        }
    }
}
