//! Where the sockets of length-coded bulk, and those of streams, are bound and what they are connected to.

use std::net::{IpAddr, SocketAddr};

use tasuki_link::{BulkSocket, UdpOptions};
use tasuki_proto::RailState;
use tasuki_wire::Lane;

use crate::api::Peer;
use crate::core::Core;
use crate::rails::{ROUTED, UDP_IPV4_HEADERS};
use crate::state::State;

/// One way for bulk.
pub(crate) struct Opened {
    pub socket: BulkSocket,
    pub rail: u8,
    /// Longest datagram, bytes.
    pub first: u16,
}

/// Where a rail to a peer begins and ends.
pub(crate) struct RailEnds {
    /// Own address.
    pub local: IpAddr,
    /// Own NIC; `None` for the routed way.
    pub device: Option<String>,
    /// The peer's address.
    pub remote: IpAddr,
    /// Largest IP packet, bytes.
    pub mtu: u16,
}

impl Core {
    /// Opens a socket on a rail to a peer. `None`: there is no such rail here, or no socket to be had.
    pub(crate) fn open_bulk(&self, peer: Peer, rail: u8) -> Option<Opened> {
        let ends = self.rail_ends(peer, rail)?;
        let options = UdpOptions { device: ends.device, ..UdpOptions::new(ends.local) };
        let socket = BulkSocket::bind(&options).ok()?;
        Some(Opened { socket, rail, first: ends.mtu - UDP_IPV4_HEADERS })
    }

    /// Where a peer's socket is on a rail.
    pub(crate) fn bulk_address(&self, peer: Peer, rail: u8, port: u16) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.rail_ends(peer, rail)?.remote, port))
    }

    /// Both ends of a rail to a peer. `None`: there is no such rail here.
    pub(crate) fn rail_ends(&self, peer: Peer, rail: u8) -> Option<RailEnds> {
        let address = self.state(peer)?.address;
        match self.rails.to(address.identity).iter().find(|own| own.rail == rail) {
            Some(own) => {
                let device = Some(own.nic.clone());
                Some(RailEnds { local: own.local, device, remote: own.remote, mtu: own.mtu })
            }
            None if rail == ROUTED => {
                let (local, remote, mtu) = (self.address.host(), address.host(), self.routed_mtu);
                Some(RailEnds { local, device: None, remote, mtu })
            }
            None => None,
        }
    }
}

impl State {
    /// The rail for bulk from a peer: the first over which datagrams come.
    pub(crate) fn bulk_rail(&self, peer: Peer) -> u8 {
        let Some(state) = self.core.state(peer) else { return ROUTED };
        let own = self.core.rails.to(state.address.identity);
        let up = |rail: u8| {
            state.conn.is_some_and(|conn| {
                let mut all = self.proto.rail_stats(conn);
                all.any(|one| {
                    one.path.rail == rail && one.path.lane == Lane::Udp && one.state == RailState::Up
                })
            })
        };
        own.iter().map(|own| own.rail).find(|rail| up(*rail)).unwrap_or(ROUTED)
    }
}
