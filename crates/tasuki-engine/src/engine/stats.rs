//! The statistics page: what `tasuki stats` reads from outside.

use tasuki_ring::stats_page::{
    Carrier, EndpointRecord, Identity, Lane, Layout, ONE_SIDED, PeerRecord as PageRecord, RailRecord,
    RailState, Writer,
};

use super::{Engine, operations};
use crate::net::Net;
use crate::net::rails::ROUTED;
use crate::peers::{PeerRecord, Route};
use crate::rendezvous::Rendezvous;
use crate::rendezvous::bulk::Bulk;
use crate::rendezvous::stream::Streams;
use crate::shm::Shm;

/// The page, if the endpoint keeps one.
#[derive(Default)]
pub(super) struct Page {
    writer: Option<Writer>,
    /// The endpoint is for one-sided transfers alone.
    one_sided: bool,
    /// Messages and bytes sent and received, and bytes carried, as the page said last.
    moved: [u64; 5],
}

impl Page {
    /// Begins to keep a page. Without one (no room in `/dev/shm`) the endpoint works as well.
    pub fn open(&mut self, address: String, one_sided: bool, shm: &Shm, net: &Net) {
        self.one_sided = one_sided;
        let identity = Identity { address, lanes: self.lanes(shm, net) };
        self.writer = Writer::create(&Layout::default(), &identity).ok();
    }

    pub fn is_open(&self) -> bool {
        self.writer.is_some()
    }

    /// The raw lanes have been opened.
    pub fn set_lanes(&mut self, shm: &Shm, net: &Net) {
        let lanes = self.lanes(shm, net);
        if let Some(page) = &mut self.writer {
            page.lanes(&lanes);
        }
    }

    fn lanes(&self, shm: &Shm, net: &Net) -> String {
        let begin = if self.one_sided { ONE_SIDED } else { "" };
        format!("{begin}{}", lanes_in_use(shm, net))
    }
}

fn lanes_in_use(shm: &Shm, net: &Net) -> &'static str {
    let raw = net.links().iter().any(|link| link.raw.is_some());
    match (shm.is_open(), raw) {
        (true, true) => "shm+raw+udp",
        (true, false) => "shm+udp",
        (false, true) => "raw+udp",
        (false, false) => "udp",
    }
}

/// Brings the page up to date.
pub(super) fn update(engine: &mut Engine) {
    let Some(mut page) = engine.page.writer.take() else { return };
    let mut total = totals(engine);
    for (peer, record) in engine.peers.iter().filter(|(_, record)| record.is_acquainted()) {
        let index = peer.0 as usize;
        let row = peer_row(engine, record);
        total.messages_sent += row.messages_sent;
        total.messages_received += row.messages_received;
        total.bytes_sent += row.bytes_sent;
        total.bytes_received += row.bytes_received;
        page.peer(index, &row);
        let Some(conn) = record.conn else { continue };
        for (place, rail) in engine.net.proto().rail_stats(conn).enumerate() {
            page.rail(index, place, &rail_row(engine, record, &rail));
        }
    }
    let carried = carried(&engine.rendezvous);
    let moved =
        [total.messages_sent, total.messages_received, total.bytes_sent, total.bytes_received, carried];
    // Operations are listed for those who ask why nothing moves; while messages move that costs nothing.
    if std::mem::replace(&mut engine.page.moved, moved) == moved {
        let listed = operations::list(engine, &mut page);
        (total.operations_listed, total.operations_complete) = listed;
    }
    page.endpoint(&total);
    page.carried(carried);
    let drops = engine.net.proto().drops();
    let mut drops: Vec<(&str, u64)> = drops.iter().map(|(reason, count)| (reason.name(), count)).collect();
    drops.extend(kernel_drops(&mut engine.net));
    if let Some(bulk) = engine.rendezvous.bulk() {
        let counters = bulk.counters();
        drops.push(("bulk: asked for again", counters.again));
        drops.push(("bulk: of no use", counters.useless));
        drops.push(("bulk: messages in frames", counters.given_up));
    }
    if let Some(streams) = engine.rendezvous.streams() {
        drops.push(("streams: broken", streams.counters().broken));
        drops.push(("streams: messages in frames", streams.counters().given_up));
    }
    page.drops(&drops);
    engine.page.writer = Some(page);
}

/// Bytes of messages that streams and length-coded bulk have carried, both ways. The message layer hears of
/// many of them only when their message is whole, which may take a minute.
fn carried(rendezvous: &Rendezvous) -> u64 {
    let bulk = rendezvous.bulk().map(Bulk::counters).unwrap_or_default();
    let streams = rendezvous.streams().map(Streams::counters).unwrap_or_default();
    bulk.bytes + bulk.sent_bytes + streams.received_bytes + streams.sent_bytes
}

/// Packets that did not get from the kernel to the packet layer or the other way.
fn kernel_drops(net: &mut Net) -> [(&'static str, u64); 4] {
    let (mut socket, mut ring, mut unsent, mut misfit) = (0, 0, 0, 0);
    for link in net.links_mut() {
        let udp = link.udp.stats();
        socket += udp.kernel_drops;
        unsent += udp.send_too_big + udp.send_unreachable + udp.send_other;
        misfit += udp.unusable;
        let Some(raw) = &mut link.raw else { continue };
        // If this fails, the count is that of the last time.
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

fn totals(engine: &Engine) -> EndpointRecord {
    let layer = engine.messages.layer();
    let status = layer.status();
    let measured = layer.controller().measured().unwrap_or_default();
    EndpointRecord {
        receives_posted: status.posted as u64,
        unexpected: status.unexpected as u64,
        pool_held: status.pool_held,
        pool_limit: status.pool_size,
        completions_waiting: engine.messages.completions().len() as u64,
        progress_calls: engine.activity.program,
        helper_calls: engine.activity.helper,
        granted_rate: measured.rate,
        grant_window: measured.window,
        grants: measured.grants,
        slowed: measured.slowed,
        ..EndpointRecord::default()
    }
}

pub(super) fn peer_row(engine: &Engine, record: &PeerRecord) -> PageRecord {
    let layer = engine.messages.layer();
    let counters = layer.counters(record.id).copied().unwrap_or_default();
    let status = layer.peer_status(record.id).unwrap_or_default();
    PageRecord {
        name: record.address.to_string(),
        carrier: match record.route {
            Route::Loopback => Carrier::Own,
            Route::Shm => Carrier::Shm,
            Route::Net(conn) if has_raw(&engine.net, conn) => Carrier::Raw,
            Route::Net(_) => Carrier::Udp,
            Route::Unknown | Route::Gone => Carrier::None,
        },
        dead: record.failure.is_some(),
        messages_sent: counters.sent_messages,
        messages_received: counters.received_messages,
        bytes_sent: counters.sent_bytes + counters.fetched_bytes,
        bytes_received: counters.received_bytes + counters.pulled_bytes,
        unexpected: counters.unexpected_messages,
        credit: status.credit,
        pool_held: status.pool_held,
        sends_pending: status.sends_open as u64,
    }
}

/// Whether a raw lane to the peer is up.
fn has_raw(net: &Net, conn: tasuki_proto::ConnId) -> bool {
    let raw = |rail: &tasuki_proto::RailStats| {
        rail.path.lane == tasuki_wire::Lane::Raw && rail.state == tasuki_proto::RailState::Up
    };
    net.proto().rail_stats(conn).any(|rail| raw(&rail))
}

fn rail_row(engine: &Engine, record: &PeerRecord, rail: &tasuki_proto::RailStats) -> RailRecord {
    let number = rail.path.rail;
    let rails = engine.net.rails().to(record.address.identity);
    let own = rails.iter().find(|own| own.rail == number);
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
