//! The statistics page: what `tasuki stats` reads from outside.

use tasuki_ring::stats_page::{
    Carrier, EndpointRecord, Identity, Layout, PeerRecord, RailRecord, RailState, Writer,
};

use crate::peer::{PeerState, Way};
use crate::rails::ROUTED;
use crate::state::State;

impl State {
    /// Begins to keep a page. Without one (no room in /dev/shm) the endpoint works as well.
    pub fn open_page(&mut self) {
        let lanes = if self.segment.is_some() { "shm+udp" } else { "udp" };
        let identity = Identity { address: self.core.address.to_string(), lanes: lanes.to_owned() };
        self.page = Writer::create(&Layout::default(), &identity).ok();
    }

    /// Brings the page up to date.
    pub fn write_page(&mut self) {
        let Some(mut page) = self.page.take() else { return };
        let mut total = self.totals();
        for (index, state) in self.core.peers.iter().enumerate().filter(|(_, state)| state.is_known()) {
            let record = self.peer_record(state);
            total.messages_sent += record.messages_sent;
            total.messages_received += record.messages_received;
            total.bytes_sent += record.bytes_sent;
            total.bytes_received += record.bytes_received;
            page.peer(index, &record);
            let Some(conn) = state.conn else { continue };
            for (place, rail) in self.proto.rail_stats(conn).enumerate() {
                page.rail(index, place, &self.rail_record(state, &rail));
            }
        }
        page.endpoint(&total);
        let drops: Vec<(&str, u64)> =
            self.proto.drops().iter().map(|(reason, count)| (reason.name(), count)).collect();
        page.drops(&drops);
        self.page = Some(page);
    }

    fn totals(&self) -> EndpointRecord {
        let status = self.core.msg.status();
        EndpointRecord {
            receives_posted: status.posted as u64,
            unexpected: status.unexpected as u64,
            pool_held: status.pool_held,
            pool_limit: status.pool_size,
            completions_waiting: self.core.completions.len() as u64,
            progress_calls: self.polled,
            helper_calls: self.helped,
            ..EndpointRecord::default()
        }
    }

    fn peer_record(&self, state: &PeerState) -> PeerRecord {
        let counters = self.core.msg.counters(state.id).copied().unwrap_or_default();
        let status = self.core.msg.peer_status(state.id).unwrap_or_default();
        PeerRecord {
            name: state.address.to_string(),
            carrier: match state.way {
                Way::Own => Carrier::Own,
                Way::Shared(_) => Carrier::Shm,
                Way::Packets(_) => Carrier::Udp,
                Way::Unknown | Way::Gone => Carrier::None,
            },
            dead: state.reason.is_some(),
            messages_sent: counters.sent_messages,
            messages_received: counters.received_messages,
            bytes_sent: counters.sent_bytes,
            bytes_received: counters.received_bytes + counters.pulled_bytes,
            unexpected: counters.unexpected_messages,
            credit: status.credit,
            pool_held: status.pool_held,
            sends_pending: status.sends_open as u64,
        }
    }

    fn rail_record(&self, state: &PeerState, rail: &tasuki_proto::RailStats) -> RailRecord {
        let number = rail.path.rail;
        let own = self.core.rails.to(state.address.identity).iter().find(|own| own.rail == number);
        let routed = if number == ROUTED { "routed" } else { "?" };
        RailRecord {
            rail: number,
            nic: own.map_or(routed, |own| own.nic.as_str()).to_owned(),
            state: match rail.state {
                tasuki_proto::RailState::Up => RailState::Up,
                tasuki_proto::RailState::Down => RailState::Down,
                _ => RailState::Probing,
            },
            packets_sent: rail.sent_packets,
            packets_received: rail.received_packets,
            bytes_sent: rail.sent_bytes,
            bytes_received: rail.received_bytes,
            resent: rail.resent_bytes,
            lost: rail.lost_packets,
            srtt_ns: rail.srtt_ns,
            rate: rail.rate,
            cwnd: rail.window,
            inflight: rail.in_flight,
        }
    }
}
