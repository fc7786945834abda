//! What hosts say about packets that they refused, and what follows for the peers that were meant. See [`crate::doubt`].

use std::net::SocketAddr;

use tasuki_link::{Refusal, RefusalKind};
use tasuki_proto::Time;

use crate::api::Peer;
use crate::doubt::{Doubt, Finding, Nonce, Word};
use crate::peer::{Destination, PeerState, Way};
use crate::state::{Link, State};

/// Payload of a knock, bytes: a number by which its refusal is known, and nothing else. Shorter than any packet, so no receiver takes it for one.
pub(crate) const KNOCK: usize = size_of::<Nonce>();

/// Refusals of one socket that are heard at one look. Whoever floods the host with forged ones shall not keep it from everything else.
const HEARD: usize = 64;

/// A refusal that proves nothing makes us knock, but not sooner than this after the knock before, ns: forged ones come in any number.
const HINT_PAUSE: u64 = 10_000_000;

impl State {
    /// Takes in what the network says about packets that it did not deliver. True if it was something about peers.
    pub fn hear_refusals(&mut self, now: Time) {
        for index in 0..self.links.len() {
            for _ in 0..HEARD {
                let Some(refusal) = self.links[index].udp.poll_refusal() else { break };
                if refusal.kind == RefusalKind::PortUnreachable && !refusal.own {
                    self.hear_refusal(&refusal, now);
                }
            }
        }
    }

    /// Somebody says that nobody listens where peers were.
    fn hear_refusal(&mut self, refusal: &Refusal, now: Time) {
        for peer in self.peers_at(refusal.to) {
            // A router or a firewall on the way knows nothing of the peer's process.
            let by_its_host = refusal.by == Some(refusal.to.ip());
            let heard = self.heard(peer);
            let Some(state) = self.core.state_mut(peer) else { continue };
            let doubt = state.doubt.get_or_insert_default();
            let word = if by_its_host { doubt.refused(refusal.quoted(), heard) } else { Word::Hint };
            let rests = now.0.saturating_sub(doubt.knocked_at.0) >= HINT_PAUSE;
            match word {
                Word::Begins => self.try_peer(peer, now),
                Word::Hint if rests && !doubt.is_open() => self.knock(peer, now),
                Word::Hint | Word::Repeated => {}
            }
        }
    }

    /// Packets that have come from a peer. All of them are authenticated.
    fn heard(&self, peer: Peer) -> u64 {
        let conn = self.core.state(peer).and_then(|state| state.conn);
        conn.map_or(0, |conn| self.proto.rail_stats(conn).map(|stats| stats.received_packets).sum())
    }

    /// The host of a peer has refused a knock: from the next look on the peer is asked for a sign of life. (Not sooner: what is sent where nobody listens takes its part of
    /// the few refusals that the host has for this one, and the next knock is to be among them.)
    fn try_peer(&mut self, peer: Peer, now: Time) {
        let Some(state) = self.core.state_mut(peer) else { return };
        if state.gone {
            // It has said goodbye.
            return self.bury(peer);
        }
        if matches!(state.way, Way::Unknown) && state.conn.is_none() {
            if let Some(doubt) = &mut state.doubt {
                doubt.is_stranger = true;
            }
            // Nobody has said a word yet. It is greeted, or found on this host.
            self.choose_way(peer, now);
        }
    }

    /// Asks a peer for a sign of life on all ways.
    fn ask(&mut self, peer: Peer, now: Time) {
        if let Some(conn) = self.core.state(peer).and_then(|state| state.conn) {
            self.proto.probe_peer(now, conn);
            // It has something to send now.
            self.settled = false;
        }
    }

    /// Looks at all peers whose hosts have refused knocks.
    pub fn judge_peers(&mut self, now: Time) {
        for index in 0..self.core.peers.len() {
            let peer = Peer(index as u32);
            if !self.core.peers[index].is_on_trial() {
                continue;
            }
            let heard = self.heard(peer);
            let state = &mut self.core.peers[index];
            let asked = state.is_asked() && state.reason.is_none();
            let Some(doubt) = state.doubt.as_mut().filter(|_| asked) else {
                state.doubt = None;
                continue;
            };
            match doubt.look(heard) {
                Finding::Nothing => {}
                Finding::Lives => doubt.is_stranger = false,
                Finding::Silent => self.ask(peer, now),
                Finding::Gone => self.bury(peer),
            }
        }
    }

    fn bury(&mut self, peer: Peer) {
        let Some(state) = self.core.state(peer) else { return };
        let to = SocketAddr::new(state.address.host(), state.address.port);
        self.fail_peer(
            peer,
            format!(
                "its host says that nobody listens at {to}, and nothing has come from it since: its process has ended, or a \
                 firewall there refuses UDP"
            ),
        );
    }

    /// Peers that live, as far as is known, and have a socket there.
    pub(crate) fn peers_at(&self, to: SocketAddr) -> Vec<Peer> {
        let matches = |state: &PeerState| {
            state.is_asked()
                && state.reason.is_none()
                && ((state.address.host() == to.ip() && state.address.port == to.port())
                    || state.targets.iter().any(|(_, target)| target.to == Destination::Udp(to)))
        };
        let peers = self.core.peers.iter().enumerate();
        peers.filter(|(_, state)| matches(state)).map(|(index, _)| Peer(index as u32)).collect()
    }

    /// Asks the host of a peer whether its socket is still there: by a datagram that the host refuses if not.
    pub fn knock(&mut self, peer: Peer, now: Time) {
        let mut nonce = Nonce::default();
        // Without a number that nobody can guess an answer would prove nothing.
        if getrandom::fill(&mut nonce).is_err() {
            return;
        }
        let heard = self.heard(peer);
        let Some(state) = self.core.state_mut(peer) else { return };
        let doubt: &mut Doubt = state.doubt.get_or_insert_default();
        doubt.knocked(nonce, heard, now);
        let to = SocketAddr::new(state.address.host(), state.address.port);
        let Some(Link { udp, .. }) = self.links.first_mut() else { return };
        // Alone: of several datagrams that the kernel cuts apart only behind the refusal, the first alone would be quoted.
        let _ = udp.flush();
        udp.queue(to, KNOCK, |bytes| {
            bytes[..KNOCK].copy_from_slice(&nonce);
            KNOCK
        });
        let _ = udp.flush();
    }
}
