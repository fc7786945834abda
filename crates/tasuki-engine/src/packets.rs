//! Frames in packets: sockets on one side, the packet layer on the other.

use std::net::SocketAddr;

use tasuki_link::RefusalKind;
use tasuki_proto::{ConnId, Event, Time};

use crate::api::Peer;
use crate::peer::{Target, Way};
use crate::rails::ROUTED;
use crate::state::{BATCH, Link, State};

/// A datagram of one byte asks nothing and says nothing: whether its addressee's socket is still there shows in the
/// answer of its host, which refuses it if not.
const KNOCK: usize = 1;

impl State {
    /// Takes in the packets that wait at the sockets. True if there were any.
    pub fn receive_packets(&mut self, now: Time) -> bool {
        let (links, proto, core) = (&mut self.links, &mut self.proto, &mut self.core);
        let mut any = false;
        for index in self.ready.look() {
            let link = &mut links[index];
            // A lone packet costs one call and not a second one to learn that it is alone.
            let budget = if link.busy { BATCH } else { 1 };
            let received = link.udp.receive(budget, |_, datagram| {
                if datagram.len() != KNOCK {
                    // What is dropped is counted there by reason, and never answered.
                    let _ = proto.handle_packet(now, datagram, core);
                }
            });
            let count = received.unwrap_or(0);
            link.busy = count >= budget;
            any |= count > 0;
        }
        self.hear_events();
        self.hear_refusals();
        any
    }

    /// Sends what the packet layer has. True if there was something.
    pub fn transmit(&mut self, now: Time) -> bool {
        let mut sent = 0;
        while sent < BATCH {
            let Some(transmit) = self.proto.poll_transmit(now, &mut self.packet, &mut self.core) else {
                break;
            };
            sent += 1;
            let Some(target) = self.target(transmit.conn, transmit.path.rail) else { continue };
            let packet = &self.packet[..transmit.len];
            let udp = &mut self.links[target.link].udp;
            let fill = |bytes: &mut [u8]| {
                bytes[..packet.len()].copy_from_slice(packet);
                packet.len()
            };
            if !udp.queue(target.to, packet.len(), fill) {
                // A packet that finds no room even then is lost, as it would be in a switch: the packet layer sees to it.
                let _ = udp.flush();
                udp.queue(target.to, packet.len(), fill);
            }
        }
        for link in &mut self.links {
            if link.udp.queued() > 0 {
                // Errors are counted there; lost packets are sent again, on another rail if this one stays silent.
                let _ = link.udp.flush();
            }
        }
        // A connection may end when it is asked for its next packet.
        self.hear_events();
        sent > 0
    }

    /// Where packets of a rail to the peer of `conn` go.
    fn target(&mut self, conn: ConnId, rail: u8) -> Option<Target> {
        let peer = self.core.peer_of(conn)?;
        let known = self.core.state(peer)?.targets.get(usize::from(rail)).copied().flatten();
        if known.is_some() {
            return known;
        }
        let target = self.work_out_target(peer, conn, rail);
        if let Some(state) = self.core.state_mut(peer) {
            state.targets[usize::from(rail)] = target;
        }
        target
    }

    fn work_out_target(&self, peer: Peer, conn: ConnId, rail: u8) -> Option<Target> {
        let address = self.core.state(peer)?.address;
        let told = self.proto.remote_rail(conn, rail).filter(|told| told.port != 0);
        if rail == ROUTED {
            let port = told.map_or(address.port, |told| told.port);
            return Some(Target { link: 0, to: SocketAddr::new(address.host(), port) });
        }
        let own = self.core.rails.to(address.identity).iter().find(|own| own.rail == rail)?;
        let link = self.links.iter().position(|link| link.nic.as_deref() == Some(&own.nic))?;
        let to = match told {
            Some(told) => SocketAddr::new(told.address.to_canonical(), told.port),
            None => SocketAddr::new(own.remote, address.port),
        };
        Some(Target { link, to })
    }

    fn hear_events(&mut self) {
        while let Some(event) = self.proto.poll_event() {
            match event {
                Event::Refused(conn, reason) => {
                    if let Some(peer) = self.core.peer_of(conn) {
                        self.fail_peer(peer, format!("it refuses the connection: {reason:?}"));
                    }
                }
                Event::Reset(conn) => {
                    if let Some(peer) = self.core.peer_of(conn) {
                        self.fail_peer(peer, "it has forgotten the connection".to_owned());
                    }
                }
                Event::Closed(conn) => self.forget_conn(conn),
                Event::Connected(conn)
                | Event::RailsChanged(conn)
                | Event::RailUp(conn, _)
                | Event::RailDown(conn, _, _) => {
                    if let Some(peer) = self.core.peer_of(conn)
                        && let Some(state) = self.core.state_mut(peer)
                    {
                        state.targets = [None; 32];
                        state.unanswered = None;
                    }
                }
            }
        }
    }

    /// A closed connection is over.
    fn forget_conn(&mut self, conn: ConnId) {
        let Some(peer) = self.core.peer_of(conn) else { return };
        self.core.bind_conn(conn, None);
        if let Some(state) = self.core.state_mut(peer) {
            state.conn = None;
            if matches!(state.way, Way::Packets(_)) {
                state.way = Way::Gone;
            }
        }
    }

    /// The host of a peer says that nobody listens there: the process is gone. Said about a NIC's address it may only
    /// mean that the packet took another way than planned, so the identity address is asked before it is believed.
    fn hear_refusals(&mut self) {
        for index in 0..self.links.len() {
            while let Some(refusal) = self.links[index].udp.poll_refusal() {
                if refusal.kind != RefusalKind::PortUnreachable {
                    continue;
                }
                let peers = self.peers_at(refusal.to);
                for peer in peers {
                    if index == 0 {
                        self.fail_peer(peer, format!("its host says that nobody listens at {}", refusal.to));
                    } else {
                        self.knock(peer);
                    }
                }
            }
        }
    }

    fn peers_at(&self, to: SocketAddr) -> Vec<Peer> {
        let matches = |state: &crate::peer::PeerState| {
            state.conn.is_some()
                && state.reason.is_none()
                && ((state.address.host() == to.ip() && state.address.port == to.port())
                    || state.targets.iter().flatten().any(|target| target.to == to))
        };
        let peers = self.core.peers.iter().enumerate();
        peers.filter(|(_, state)| matches(state)).map(|(index, _)| Peer(index as u32)).collect()
    }

    /// Asks whether a peer's socket is still there.
    pub fn knock(&mut self, peer: Peer) {
        let Some(address) = self.core.state(peer).map(|state| state.address) else { return };
        let Some(Link { udp, .. }) = self.links.first_mut() else { return };
        let to = SocketAddr::new(address.host(), address.port);
        udp.queue(to, KNOCK, |bytes| {
            bytes[..KNOCK].fill(0);
            KNOCK
        });
        let _ = udp.flush();
    }
}
