//! Carriers of NICs (is a cable plugged in?): the kernel tells, and the packet layer hears it for every
//! connection that the NIC serves.

use tasuki_proto::{ConnId, Time};

use super::Net;
use crate::api::Peer;
use crate::peers::Peers;

impl Net {
    /// Takes in what the kernel says of the NICs. True if a carrier has changed.
    pub fn hear_link_states(&mut self, peers: &Peers, now: Time) -> bool {
        let Some(watch) = &mut self.link_watch else { return false };
        let mut changed = Vec::new();
        let links = &mut self.links;
        watch.poll(|at, carrier| {
            // The first link is the routed rail's, which has no NIC.
            if let Some(link) = links.get_mut(at + 1) {
                link.carrier = carrier;
                changed.push(at + 1);
            }
        });
        for (peer, record) in peers.iter() {
            if let Some(conn) = record.conn {
                changed.iter().for_each(|link| self.tell_link_state(conn, peer, *link, peers, now));
            }
        }
        !changed.is_empty()
    }

    /// Tells a new connection which NICs have no carrier.
    pub(super) fn tell_link_states(&mut self, conn: ConnId, peers: &Peers, now: Time) {
        let Some(peer) = peers.by_conn(conn) else { return };
        for link in 0..self.links.len() {
            if !self.links[link].carrier {
                self.tell_link_state(conn, peer, link, peers, now);
            }
        }
    }

    fn tell_link_state(&mut self, conn: ConnId, peer: Peer, link: usize, peers: &Peers, now: Time) {
        let Some(record) = peers.get(peer) else { return };
        let link = &self.links[link];
        let rails = self.host.rails.to(record.address.identity).iter();
        for rail in rails.filter(|rail| link.nic.as_deref() == Some(&rail.nic)) {
            self.proto.set_carrier(now, conn, rail.rail, link.carrier);
        }
    }
}
