//! The sockets of length-coded bulk: where they are bound, and what they are connected to.

use std::net::SocketAddr;

use tasuki_link::{BulkSocket, UdpOptions};

use super::super::context::Context;
use crate::api::Peer;
use crate::net::rails::UDP_IPV4_HEADERS;

/// A socket on one rail to a peer.
pub(super) struct Opened {
    pub socket: BulkSocket,
    pub rail: u8,
    /// Longest datagram, bytes.
    pub datagram_max: u16,
}

/// Opens a socket on a rail to a peer. `None`: there is no such rail here, or no socket is to be had.
pub(super) fn open(cx: &Context<'_>, peer: Peer, rail: u8) -> Option<Opened> {
    let ends = cx.net.rail_ends(&cx.record(peer)?.address, rail)?;
    let options = UdpOptions { device: ends.device, ..UdpOptions::new(ends.local) };
    let socket = BulkSocket::bind(&options).ok()?;
    Some(Opened { socket, rail, datagram_max: ends.mtu - UDP_IPV4_HEADERS })
}

/// Where a peer's socket is on a rail.
pub(super) fn address_of(cx: &Context<'_>, peer: Peer, rail: u8, port: u16) -> Option<SocketAddr> {
    let ends = cx.net.rail_ends(&cx.record(peer)?.address, rail)?;
    Some(SocketAddr::new(ends.remote, port))
}
