//! Connections of the packet carrier, and what the packet layer is told of their rails.

use std::net::SocketAddr;

use tasuki_msg::Pace;
use tasuki_proto::{ConnId, Event, RailState, Remote, Time};
use tasuki_wire::{Lane, Path, RefuseReason};

use super::rails::{ROUTED, RailEnds};
use super::upcalls::Above;
use super::{Net, pace};
use crate::address::Address;
use crate::api::Peer;
use crate::messages::Messages;
use crate::peers::{PeerRecord, Peers};

/// Connections.
impl Net {
    /// Opens a connection to a peer, or takes the one that the peer has opened. Gives it, and the most
    /// payload of a first frame, bytes; `None` if this endpoint has as many as it can have.
    pub fn connect(
        &mut self,
        peer: Peer,
        address: &Address,
        peers: &mut Peers,
        now: Time,
    ) -> Option<(ConnId, u64)> {
        let existing = peers.get(peer).and_then(|record| record.conn);
        let conn = existing.or_else(|| {
            let remote = Remote {
                endpoint: address.endpoint,
                incarnation: address.incarnation,
                secret: tasuki_wire::Secret(address.secret),
            };
            let rails = self.host.own_ends(address.identity);
            self.targets.greeted(peer, now);
            self.proto.connect(now, remote, &rails)
        })?;
        peers.bind_conn(conn, peer);
        self.tell_link_states(conn, peers, now);
        Some((conn, self.proto.start_room(conn) as u64))
    }

    /// The message layer has something for the peer of a connection.
    pub fn wake(&mut self, conn: ConnId) {
        self.proto.wake(conn);
    }

    /// Acknowledges what has come on a connection without waiting for a packet to ride on. True if something
    /// is owed.
    pub fn acknowledge(&mut self, conn: ConnId) -> bool {
        self.proto.acknowledge(conn)
    }

    /// Ends a connection at once, because the peer has failed. Should it live, it is told.
    pub fn give_up(&mut self, peer: Peer, messages: &mut Messages, peers: &mut Peers, now: Time) {
        let Some(conn) = peers.retire_conn(peer) else { return };
        let mut above = Above { messages, peers, host: &self.host };
        self.proto.give_up(now, conn, &mut above);
    }

    /// Ends a connection when all that was sent has been acknowledged.
    pub fn close(&mut self, conn: ConnId) {
        self.proto.close(conn);
    }

    /// From now on closed connections stay to answer late packets.
    pub fn stay(&mut self) {
        self.proto.keep_closed();
    }

    /// The next event of the packet layer. What concerns this carrier alone has been done.
    #[inline(always)]
    pub fn poll_event(&mut self, peers: &mut Peers, now: Time) -> Option<Event> {
        let event = self.proto.poll_event()?;
        self.note_event(&event, peers, now);
        Some(event)
    }

    #[cold]
    fn note_event(&mut self, event: &Event, peers: &Peers, now: Time) {
        match *event {
            Event::Connected(conn) => {
                self.tell_link_states(conn, peers, now);
                self.forget_targets(conn, peers);
                // The peer has greeted, and may never hear the welcome.
                if let Some(peer) = peers.by_conn(conn).filter(|_| !self.proto.is_met(conn)) {
                    self.targets.greeted(peer, now);
                }
            }
            Event::RailsChanged(conn) | Event::RailUp(conn, _) | Event::RailDown(conn, _, _) => {
                self.forget_targets(conn, peers);
            }
            Event::Refused(..) | Event::Reset(_) | Event::Closed(_) => {}
        }
    }

    /// Packets to the peer may take other paths from now on.
    fn forget_targets(&mut self, conn: ConnId, peers: &Peers) {
        if let Some(peer) = peers.by_conn(conn) {
            self.targets.forget(peer);
        }
    }

    /// Packets that have come from a peer. All of them were authenticated.
    pub fn packets_from(&self, conn: Option<ConnId>) -> u64 {
        conn.map_or(0, |conn| self.proto.rail_stats(conn).map(|stats| stats.received_packets).sum())
    }

    /// Whether datagrams reach a peer at an address of a NIC, and not at its host's identity address alone.
    pub fn reaches_nic(&self, conn: Option<ConnId>) -> bool {
        let by_nic = |path: Path| path.lane == Lane::Udp && path.rail != ROUTED;
        conn.is_some_and(|conn| {
            self.proto.rail_stats(conn).any(|rail| by_nic(rail.path) && rail.state == RailState::Up)
        })
    }

    /// Asks a peer for a sign of life on all paths.
    pub fn ask(&mut self, conn: ConnId, now: Time) {
        self.proto.probe_peer(now, conn);
    }
}

/// Rails.
impl Net {
    /// If the raw lanes have been opened meanwhile, they are used from now on. True if so.
    #[inline(always)]
    pub fn install_opened_lanes(&mut self, peers: &Peers, now: Time) -> bool {
        self.raw_lanes.is_opening() && self.install_lanes(peers, now)
    }

    #[cold]
    fn install_lanes(&mut self, peers: &Peers, now: Time) -> bool {
        let installed = self.raw_lanes.install(&mut self.links, &mut self.host.rails);
        if installed {
            self.tell_own_rails(peers, now);
        }
        installed
    }

    /// Tells peers that were greeted without the lanes that this endpoint has them now.
    fn tell_own_rails(&mut self, peers: &Peers, now: Time) {
        for (_, record) in peers.iter() {
            let Some(conn) = record.conn else { continue };
            let ends = self.host.own_ends(record.address.identity);
            self.proto.set_rails(now, conn, &ends);
            // The new paths have carriers too.
            self.tell_link_states(conn, peers, now);
        }
    }

    /// Takes in what the kernel says of the NICs. True if a carrier has changed.
    pub fn hear_link_states(&mut self, peers: &Peers, now: Time) -> bool {
        let changed = self.link_states.hear(&mut self.links);
        for (_, record) in peers.iter() {
            if let Some(conn) = record.conn {
                changed.iter().for_each(|link| self.tell_link_state(conn, record, *link, now));
            }
        }
        !changed.is_empty()
    }

    /// Tells a new connection which NICs have no carrier.
    fn tell_link_states(&mut self, conn: ConnId, peers: &Peers, now: Time) {
        let Some(record) = peers.by_conn(conn).and_then(|peer| peers.get(peer)) else { return };
        for link in 0..self.links.len() {
            if !self.links[link].carrier {
                self.tell_link_state(conn, record, link, now);
            }
        }
    }

    fn tell_link_state(&mut self, conn: ConnId, record: &PeerRecord, link: usize, now: Time) {
        let link = &self.links[link];
        let rails = self.host.rails.to(record.address.identity).iter();
        for rail in rails.filter(|rail| link.nic.as_deref() == Some(&rail.nic)) {
            self.proto.set_carrier(now, conn, rail.rail, link.carrier);
        }
    }

    /// Both ends of a rail to the host of `address`. `None`: there is no such rail here.
    pub fn rail_ends(&self, address: &Address, rail: u8) -> Option<RailEnds> {
        self.host.rail_ends(address, rail)
    }

    /// The rail for length-coded bulk and streams from a peer: the first over which datagrams come.
    pub fn bulk_rail(&self, record: &PeerRecord) -> u8 {
        let up = |rail: u8| {
            record.conn.is_some_and(|conn| {
                self.proto.rail_stats(conn).any(|one| {
                    let here = one.path.rail == rail && one.path.lane == Lane::Udp;
                    here && one.state == RailState::Up
                })
            })
        };
        let own = self.host.rails.to(record.address.identity).iter();
        own.map(|own| own.rail).find(|rail| up(*rail)).unwrap_or(ROUTED)
    }

    /// How fast the bulk of a message of `len` bytes leaves for a peer in static mode; `None`: as the
    /// receiver's grants say.
    pub fn pace(&self, record: &PeerRecord, len: u64) -> Option<Pace> {
        pace::pace(&self.host, self.receivers.as_ref()?, record, len)
    }

    /// Peers that have not failed and have, as far as is known, a UDP socket at this address.
    pub fn peers_at(&self, to: SocketAddr, peers: &Peers) -> Vec<Peer> {
        self.targets.peers_at(to, peers)
    }

    /// Peers that were greeted before `deadline` and have not answered. Each is given once.
    pub fn take_unanswered(&mut self, deadline: Time) -> Vec<Peer> {
        self.targets.take_unanswered(deadline)
    }

    /// A round of looking after peers passes. Gives those that have not answered a greeting or a welcome for
    /// so many.
    pub fn never_answered(&mut self, rounds: u64, peers: &Peers) -> Vec<Peer> {
        let Net { targets, proto, .. } = self;
        let conn = |peer| peers.get(peer).and_then(|record| record.conn);
        targets.never_answered(rounds, |peer| conn(peer).is_none_or(|conn| proto.is_met(conn)))
    }
}

/// Why a peer that has refused a connection counts as failed.
pub(crate) fn why_refused(reason: RefuseReason) -> String {
    match reason {
        RefuseReason::NoRoom => "it refuses the connection: it has no room for another peer".to_owned(),
        RefuseReason::Leaving => "it refuses the connection: it is leaving".to_owned(),
        RefuseReason::GivenUp => "it has given this endpoint up".to_owned(),
    }
}
