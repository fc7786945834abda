//! The directory of peers: which endpoints are known, under which address, and by which route messages reach
//! each of them.

use std::collections::HashMap;

use tasuki_msg::PeerId;
use tasuki_proto::ConnId;

use crate::address::Address;
use crate::api::{Peer, Standing};

/// The route by which messages leave for a peer. It is chosen when something is first sent there; the route
/// by which the peer answers is the peer's own choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Nothing has been sent yet, so no route is chosen.
    Unknown,
    /// The peer is this endpoint itself.
    Loopback,
    /// Shared memory: the peer is on this host and its segment could be opened.
    Shm,
    /// Packets of this connection.
    Net(ConnId),
    /// The peer has failed, or both sides have parted.
    Gone,
}

/// What the directory knows of one peer.
pub(crate) struct PeerRecord {
    /// The peer's name in the message layer; its index is that of [`Peer`].
    pub id: PeerId,
    pub address: Address,
    pub route: Route,
    /// The connection by which the peer's packets arrive, or which this endpoint has opened. A peer that is
    /// reached by shared memory may have one too, if it chose packets.
    pub conn: Option<ConnId>,
    /// The message layer has declared the peer gone.
    pub gone: bool,
    /// The peer has said goodbye: it takes nothing more.
    pub said_bye: bool,
    /// Why the peer was declared failed.
    pub failure: Option<String>,
    /// It has failed after something was exchanged with it, and without a goodbye.
    pub is_lost: bool,
}

impl PeerRecord {
    /// Whether the peer's host is to be asked by packet if the peer is still there: true if packets are how
    /// it is reached, and also before the first message, when the route is not known.
    pub fn is_probed_by_packet(&self) -> bool {
        self.conn.is_some() || self.route == Route::Unknown
    }

    /// Whether something has been sent to the peer or has come from it.
    pub fn is_acquainted(&self) -> bool {
        self.conn.is_some() || self.route != Route::Unknown
    }
}

/// All peers of an endpoint, found by number, by address or by connection.
#[derive(Default)]
pub(crate) struct Peers {
    records: Vec<PeerRecord>,
    /// By incarnation and endpoint id, which no two endpoints share.
    by_name: HashMap<(u64, u32), Peer>,
    /// By the index of the connection.
    by_conn: Vec<Option<(ConnId, Peer)>>,
    /// Number of peers that have a connection.
    connected: usize,
}

impl Peers {
    /// The peer with this address. `new_id` is called if the address is new, and must give the next id of the
    /// message layer.
    pub fn find_or_add(&mut self, address: &Address, new_id: impl FnOnce() -> PeerId) -> Peer {
        let name = (address.incarnation, address.endpoint);
        if let Some(peer) = self.by_name.get(&name) {
            return *peer;
        }
        let id = new_id();
        let peer = Peer::from(id);
        debug_assert_eq!(self.records.len(), id.index(), "ids are dense");
        self.by_name.insert(name, peer);
        self.records.push(PeerRecord {
            id,
            address: *address,
            route: Route::Unknown,
            conn: None,
            gone: false,
            said_bye: false,
            failure: None,
            is_lost: false,
        });
        peer
    }

    #[inline(always)]
    pub fn get(&self, peer: Peer) -> Option<&PeerRecord> {
        self.records.get(peer.0 as usize)
    }

    pub fn get_mut(&mut self, peer: Peer) -> Option<&mut PeerRecord> {
        self.records.get_mut(peer.0 as usize)
    }

    /// The peer's name in the message layer.
    #[inline(always)]
    pub fn id(&self, peer: Peer) -> Option<PeerId> {
        self.get(peer).map(|record| record.id)
    }

    /// All peers, in the order in which they became known.
    pub fn iter(&self) -> impl Iterator<Item = (Peer, &PeerRecord)> {
        self.records.iter().enumerate().map(|(index, record)| (Peer(index as u32), record))
    }

    /// The numbers of all peers. Borrows nothing, so that the peers can be changed meanwhile.
    pub fn numbers(&self) -> impl Iterator<Item = Peer> + use<> {
        (0..self.records.len() as u32).map(Peer)
    }

    /// Remembers that packets of `conn` are those of `peer`.
    pub fn bind_conn(&mut self, conn: ConnId, peer: Peer) {
        if let Some(record) = self.get_mut(peer)
            && record.conn.replace(conn).is_none()
        {
            self.connected += 1;
        }
        self.lead_conn(conn, peer);
    }

    /// Remembers that packets of `conn` go to `peer`, though it is not the connection by which the two speak.
    pub fn lead_conn(&mut self, conn: ConnId, peer: Peer) {
        let index = conn.index();
        if self.by_conn.len() <= index {
            self.by_conn.resize(index + 1, None);
        }
        self.by_conn[index] = Some((conn, peer));
    }

    /// Forgets the connection of a peer, and gives it if there was one.
    pub fn unbind_conn(&mut self, peer: Peer) -> Option<ConnId> {
        let conn = self.retire_conn(peer)?;
        // Another connection may have its index by now.
        if let Some(place) = self.by_conn.get_mut(conn.index()) {
            place.take_if(|(known, _)| *known == conn);
        }
        Some(conn)
    }

    /// Takes the connection from a peer, and gives it if there was one. Packets of it still go to the peer.
    pub fn retire_conn(&mut self, peer: Peer) -> Option<ConnId> {
        let conn = self.get_mut(peer)?.conn.take()?;
        self.connected -= 1;
        Some(conn)
    }

    /// The peer to which a connection leads.
    pub fn by_conn(&self, conn: ConnId) -> Option<Peer> {
        let (known, peer) = self.by_conn.get(conn.index()).copied().flatten()?;
        (known == conn).then_some(peer)
    }

    /// Whether no peer is reached by packets, as far as is known: all are on this host, or nothing was
    /// exchanged yet.
    #[inline(always)]
    pub fn are_all_local(&self) -> bool {
        self.connected == 0
    }
}

/// The addresses of peers, for callbacks that receive completions while the endpoint is locked and must not
/// call it.
pub struct Names<'a>(pub(crate) &'a Peers);

impl Names<'_> {
    /// The address of a peer.
    pub fn address(&self, peer: Peer) -> Option<Address> {
        self.0.get(peer).map(|record| record.address)
    }

    /// Why a peer was declared failed.
    pub(crate) fn failure(&self, peer: Peer) -> Option<String> {
        self.0.get(peer).and_then(|record| record.failure.clone())
    }

    /// How a peer stands to this endpoint.
    pub(crate) fn standing(&self, peer: Peer) -> Standing {
        match self.0.get(peer) {
            Some(record) if record.is_lost => Standing::Failed,
            Some(record) if record.gone || record.failure.is_some() => Standing::Parted,
            _ => Standing::Present,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_msg::{Config, Pacer, PeerOptions};

    fn address(endpoint: u32) -> Address {
        let identity = std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped();
        Address { identity, port: 1, endpoint, incarnation: 2, secret: [3; 16] }
    }

    #[test]
    fn a_peer_is_found_by_its_address_and_by_its_connection_until_that_is_unbound() {
        let mut layer = tasuki_msg::Endpoint::<Pacer>::new(Config::default(), Pacer::default());
        let mut peers = Peers::default();
        let mut add = |peers: &mut Peers, endpoint| {
            let options = PeerOptions { inline_max: 0, pull: false };
            peers.find_or_add(&address(endpoint), || layer.add_peer(options))
        };
        let first = add(&mut peers, 7);
        let second = add(&mut peers, 8);
        assert_eq!((first, second, add(&mut peers, 7)), (Peer(0), Peer(1), Peer(0)));
        assert!(peers.are_all_local() && peers.iter().all(|(_, record)| !record.is_acquainted()));
        assert_eq!(peers.unbind_conn(second), None);
        assert_eq!(peers.numbers().collect::<Vec<_>>(), [first, second]);
    }
}
