//! Frames between the message layer and the carriers: what the packet layer and shared memory call.

use std::num::NonZeroU64;

use tasuki_msg::{Frame, PeerOptions, Placement, Sink};
use tasuki_proto::{ConnId, Outgoing, Payload, Upcalls};
use tasuki_wire::{Greeting, Lane, Lanes, Rail};

use crate::address::Address;
use crate::api::Peer;
use crate::core::Core;
use crate::peer::Way;
use crate::rails::{ROUTED, mapped};

impl Core {
    /// A frame has arrived from `peer`: its payload goes where the message layer says.
    pub fn arrived(&mut self, peer: Peer, frame: &Frame, payload: &[u8]) {
        let Some(state) = self.state(peer) else { return };
        let id = state.id;
        if let Frame::Start(start) = frame {
            // The packet that brings an answer often acknowledges what it answers: that comes first.
            if self.msg.has_actions() {
                self.run_actions();
            }
            if let Some(done) = self.msg.recv_inline(id, start) {
                return self.received(&done, payload);
            }
        }
        match self.msg.handle_frame(id, frame) {
            Ok(placement) => self.place(placement, payload),
            Err(tasuki_msg::FrameError::PeerGone(_)) => {}
            Err(error) => self.broken.push((peer, error.to_string())),
        }
    }

    fn place(&mut self, placement: Placement, payload: &[u8]) {
        let bytes = &payload[..payload.len().min(placement.len as usize)];
        match placement.sink {
            Sink::Nowhere => {}
            Sink::Recv { user, offset, .. } => {
                if let Some(recv) = self.recvs.get(user as usize) {
                    // SAFETY: the message layer names only receives that have not completed.
                    unsafe { recv.memory.write(offset, bytes) };
                }
            }
            Sink::Early { buffer, size, offset } => self.write_early(buffer, size, offset, bytes),
        }
    }

    /// Copies payload of a send into a frame.
    pub fn read_payload(&self, key: u64, offset: u64, into: &mut [u8]) {
        if let Some(send) = self.sends.get(key as usize) {
            // SAFETY: a carrier asks only for frames that it has not released, and the message layer completes a send
            // only when all its frames have been released.
            unsafe { send.memory.read(offset, into) };
        }
    }

    /// A carrier needs the payload of one frame no longer.
    pub fn release_payload(&mut self, key: u64) {
        if let Some(id) = self.sends.get(key as usize).and_then(|send| send.id) {
            self.msg.handle_released(id);
        }
    }

    /// Own ends of the rails to a host, for a greeting.
    pub fn own_rails(&self, identity: std::net::Ipv6Addr) -> Vec<Rail> {
        let udp = Lanes::default().with(Lane::Udp);
        let port = self.address.port;
        let own = |rail: &crate::rails::Rail| Rail {
            rail: rail.rail,
            lanes: if rail.mac.is_some() { udp.with(Lane::Raw) } else { udp },
            mtu: rail.mtu,
            rate_mbps: rail.rate_mbits,
            address: mapped(rail.local),
            port,
            mac: rail.mac.unwrap_or_default(),
        };
        let mut rails: Vec<Rail> = self.rails.to(identity).iter().map(own).collect();
        let (mtu, address) = (self.routed_mtu, self.address.identity);
        rails.push(Rail { rail: ROUTED, lanes: udp, mtu, rate_mbps: 0, address, port, mac: [0; 6] });
        rails
    }
}

impl Upcalls for Core {
    fn accept(&mut self, conn: ConnId, greeting: &Greeting<'_>) -> Option<Vec<Rail>> {
        let address = Address {
            identity: greeting.identity,
            port: greeting.port,
            endpoint: greeting.endpoint,
            incarnation: greeting.incarnation,
            secret: greeting.secret.0,
        };
        let peer = self.peer(&address);
        let state = self.state_mut(peer)?;
        if state.gone {
            return None;
        }
        state.conn = Some(conn);
        let (id, unknown) = (state.id, matches!(state.way, Way::Unknown));
        if unknown && self.takes_offers() {
            // What it offers may be taken before anything has gone there. The peer is known: `id` comes from its record.
            let _ = self.msg.set_peer_options(id, PeerOptions { inline_max: 0, pull: true });
        }
        self.bind_conn(conn, Some(peer));
        self.msg.introduce(id);
        Some(self.own_rails(address.identity))
    }

    fn next(&mut self, conn: ConnId, room: usize) -> Option<Outgoing> {
        let id = self.id(self.peer_of(conn)?)?;
        let room = NonZeroU64::new(room as u64)?;
        let transmit = self.msg.poll_transmit(id, room)?;
        let payload = transmit.payload.map(|at| Payload { key: at.user, offset: at.offset, len: at.len });
        Some(tasuki_frames::outgoing(&transmit.frame, payload))
    }

    fn read(&mut self, _conn: ConnId, payload: &Payload, offset: u64, into: &mut [u8]) {
        self.read_payload(payload.key, payload.offset + offset, into);
    }

    fn released(&mut self, _conn: ConnId, payload: &Payload) {
        self.release_payload(payload.key);
    }

    fn deliver(&mut self, conn: ConnId, frame: &tasuki_wire::Frame<'_>) {
        let Some(peer) = self.peer_of(conn) else { return };
        if let Some((frame, payload)) = tasuki_frames::incoming(frame) {
            self.arrived(peer, &frame, payload);
        }
    }
}
