//! The statistics page: what `tasuki stats` reads from outside.

use tasuki_ring::stats_page::{
    Carrier, EndpointRecord, Identity, Lane, Layout, PeerRecord, RailRecord, RailState, Writer,
};

use crate::peer::{PeerState, Way};
use crate::rails::ROUTED;
use crate::state::State;

impl State {
    /// Begins to keep a page. Without one (no room in /dev/shm) the endpoint works as well.
    pub fn open_page(&mut self) {
        let identity =
            Identity { address: self.core.address.to_string(), lanes: self.lanes_in_use().to_owned() };
        self.page = Writer::create(&Layout::default(), &identity).ok();
    }

    /// The raw lanes are open: the page tells.
    pub fn write_lanes(&mut self) {
        let lanes = self.lanes_in_use();
        if let Some(page) = &mut self.page {
            page.lanes(lanes);
        }
    }

    fn lanes_in_use(&self) -> &'static str {
        let raw = self.links.iter().any(|link| link.raw.is_some());
        match (self.segment.is_some(), raw) {
            (true, true) => "shm+raw+udp",
            (true, false) => "shm+udp",
            (false, true) => "raw+udp",
            (false, false) => "udp",
        }
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
        let mut drops: Vec<(&str, u64)> =
            self.proto.drops().iter().map(|(reason, count)| (reason.name(), count)).collect();
        drops.extend(self.kernel_drops());
        if let Some(bulk) = &self.core.bulk {
            drops.push(("bulk: asked for again", bulk.counters.again));
            drops.push(("bulk: of no use", bulk.counters.useless));
            drops.push(("bulk: messages in frames", bulk.counters.given_up));
        }
        if let Some(streams) = &self.core.streams {
            drops.push(("streams: broken", streams.counters.broken));
            drops.push(("streams: messages in frames", streams.counters.given_up));
        }
        page.drops(&drops);
        self.page = Some(page);
    }

    /// Packets that did not get from the kernel to the packet layer or the other way.
    fn kernel_drops(&mut self) -> [(&'static str, u64); 4] {
        let (mut socket, mut ring, mut unsent, mut misfit) = (0, 0, 0, 0);
        for link in &mut self.links {
            let udp = link.udp.stats();
            socket += udp.kernel_drops;
            unsent += udp.send_too_big + udp.send_unreachable + udp.send_other;
            misfit += udp.unusable;
            let Some(raw) = &mut link.raw else { continue };
            // Without this look the count is old, no more.
            let _ = raw.look_for_drops();
            let raw = raw.stats();
            ring += raw.kernel_drops;
            unsent += raw.send_stuck + raw.send_refused;
            misfit += raw.truncated;
        }
        [
            ("here: UDP socket full", socket),
            ("here: raw ring full", ring),
            ("here: not sent", unsent),
            ("here: too long", misfit),
        ]
    }

    fn totals(&self) -> EndpointRecord {
        let status = self.core.msg.status();
        let measured = self.core.msg.controller().measured().unwrap_or_default();
        EndpointRecord {
            receives_posted: status.posted as u64,
            unexpected: status.unexpected as u64,
            pool_held: status.pool_held,
            pool_limit: status.pool_size,
            completions_waiting: self.core.completions.len() as u64,
            progress_calls: self.polled,
            helper_calls: self.helped,
            granted_rate: measured.rate,
            grant_window: measured.window,
            grants: measured.grants,
            slowed: measured.slowed,
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
                Way::Packets(conn) if self.has_raw(conn) => Carrier::Raw,
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

    /// A raw lane to the peer is up.
    fn has_raw(&self, conn: tasuki_proto::ConnId) -> bool {
        let raw = |rail: &tasuki_proto::RailStats| {
            rail.path.lane == tasuki_wire::Lane::Raw && rail.state == tasuki_proto::RailState::Up
        };
        self.proto.rail_stats(conn).any(|rail| raw(&rail))
    }

    fn rail_record(&self, state: &PeerState, rail: &tasuki_proto::RailStats) -> RailRecord {
        let number = rail.path.rail;
        let own = self.core.rails.to(state.address.identity).iter().find(|own| own.rail == number);
        let routed = if number == ROUTED { "routed" } else { "?" };
        RailRecord {
            rail: number,
            lane: if rail.path.lane == tasuki_wire::Lane::Raw { Lane::Raw } else { Lane::Udp },
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
