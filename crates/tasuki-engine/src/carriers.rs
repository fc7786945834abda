//! The carriers of NICs: the kernel tells, the packet layer hears of it for every connection that the NIC serves.

use tasuki_proto::{ConnId, Time};

use crate::api::Peer;
use crate::state::State;

impl State {
    /// Hears what the kernel says of the NICs. True if something has changed.
    pub fn hear_carriers(&mut self, now: Time) -> bool {
        let Some(carriers) = &mut self.carriers else { return false };
        let mut changed = Vec::new();
        let links = &mut self.links;
        carriers.poll(|at, carrier| {
            // The first link is the routed way, which has no NIC.
            if let Some(link) = links.get_mut(at + 1) {
                link.carrier = carrier;
                changed.push(at + 1);
            }
        });
        for index in 0..self.core.peers.len() {
            if let Some(conn) = self.core.peers[index].conn {
                changed.iter().for_each(|link| self.tell_carrier(conn, Peer(index as u32), *link, now));
            }
        }
        !changed.is_empty()
    }

    /// A new connection hears which NICs have no carrier.
    pub fn tell_carriers(&mut self, conn: ConnId, now: Time) {
        let Some(peer) = self.core.peer_of(conn) else { return };
        for link in 0..self.links.len() {
            if !self.links[link].carrier {
                self.tell_carrier(conn, peer, link, now);
            }
        }
    }

    fn tell_carrier(&mut self, conn: ConnId, peer: Peer, link: usize, now: Time) {
        let Some(state) = self.core.state(peer) else { return };
        let link = &self.links[link];
        let rails = self.core.rails.to(state.address.identity).iter();
        for rail in rails.filter(|rail| link.nic.as_deref() == Some(&rail.nic)) {
            self.proto.set_carrier(now, conn, rail.rail, link.carrier);
        }
    }
}
