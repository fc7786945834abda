//! Which peers are invited to send by stream: those whose packets arrive fast, and one by one.
//!
//! Where the kernel joins packets (UDP_GRO) they cost less than a stream, and so do large ones. Where it does
//! not, each packet passes the whole kernel alone; TCP's path through the kernel is shorter, and the program
//! has nothing to do for each packet. That matters where processors are the limit, not wires.

use tasuki_link::UdpStats;
use tasuki_proto::{RailState, Time};
use tasuki_tuning::streams;

use super::super::context::Context;
use super::{Streams, tell, update_open};
use crate::api::Peer;
use crate::net::link::Link;
use crate::net::rails::ROUTED;
use crate::peers::Route;

/// What a UDP socket had received at some moment.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    packets: u64,
    bytes: u64,
    coalesced: u64,
}

impl Seen {
    fn of(stats: &UdpStats) -> Seen {
        Seen { packets: stats.received_packets, bytes: stats.received_bytes, coalesced: stats.coalesced }
    }

    /// Whether the packets since `before`, in `ns`, have arrived fast and one by one.
    fn is_costly_since(&self, before: &Seen, ns: u64) -> bool {
        let (packets, bytes) = (self.packets - before.packets, self.bytes - before.bytes);
        packets >= streams::PACKETS_MIN
            && (streams::PACKET_BYTES_MIN..streams::PACKET_BYTES_END).contains(&(bytes / packets))
            && (self.coalesced - before.coalesced) * streams::JOINED_MAX <= packets
            && bytes as f64 * 1e9 >= streams::RATE_MIN * ns as f64
    }
}

impl Streams {
    /// Whether it is time to judge again.
    pub fn is_judging_due(&self, now: Time) -> bool {
        now >= self.judge_at
    }

    /// Invites the peers that should send by stream, if peers are `welcome`, and polls the connections that
    /// are coming about.
    pub fn invite(&mut self, cx: &mut Context<'_>, welcome: bool) {
        self.judge_at = Time(cx.now.0.saturating_add(streams::JUDGE_EVERY_NS));
        let guests = match (welcome, self.always) {
            (false, _) => Vec::new(),
            (true, true) => peers_by_packets(cx),
            (true, false) => self.costly_senders(cx).into_iter().chain(self.frequent_receivers(cx)).collect(),
        };
        for (peer, rail) in guests {
            let link = self.links.entry(peer).or_default();
            if let Some(invitation) = link.invite(cx, peer, rail) {
                self.counters.invited += 1;
                tell(cx, peer, &invitation);
            }
        }
        for (&peer, link) in &mut self.links {
            if !link.poll_connection(cx.now) {
                link.end(cx, &mut self.counters, peer);
            }
            update_open(cx, peer, link);
        }
    }

    /// The peers whose packets cost more than a stream would, and the rail of each.
    fn costly_senders(&mut self, cx: &Context<'_>) -> Vec<(Peer, u8)> {
        let elapsed = cx.now.0.saturating_sub(self.judged.0);
        self.judged = cx.now;
        self.seen.resize(cx.net.links().len(), Seen::default());
        let costly = |(link, seen): (&Link, &mut Seen)| {
            let before = std::mem::replace(seen, Seen::of(&link.udp.stats()));
            seen.is_costly_since(&before, elapsed).then(|| sender_by(cx, link)).flatten()
        };
        // Most often there is none, and then nothing is allocated.
        cx.net.links().iter().zip(&mut self.seen).filter_map(costly).collect()
    }
}

impl Streams {
    /// The peers to which many messages went in packets, over one fast rail, and the rail of each.
    fn frequent_receivers(&self, cx: &Context<'_>) -> Vec<(Peer, u8)> {
        let frequent = cx.peers.iter().filter(|(peer, record)| {
            matches!(record.route, Route::Net(_))
                && !record.gone
                && cx.messages.is_fast(*peer)
                && !self.links.contains_key(peer)
        });
        frequent.filter_map(|(peer, _)| Some((peer, only_rail(cx, peer)?))).collect()
    }
}

/// All peers that are reached by packets, and the rail of each.
fn peers_by_packets(cx: &Context<'_>) -> Vec<(Peer, u8)> {
    let packets = cx.peers.iter().filter(|(_, record)| {
        let route = matches!(record.route, Route::Net(_) | Route::Unknown);
        route && record.conn.is_some() && !record.gone && record.failure.is_none()
    });
    packets.map(|(peer, record)| (peer, cx.net.bulk_rail(record))).collect()
}

/// The peer that sends most by a link, and the rail, if that is its only one: over several rails packets are
/// spread.
fn sender_by(cx: &Context<'_>, link: &Link) -> Option<(Peer, u8)> {
    let [peer] = cx.net.peers_at(link.udp.followed()?, cx.peers)[..] else { return None };
    let rail = only_rail(cx, peer)?;
    let record = cx.record(peer)?;
    let own = cx.net.rails().to(record.address.identity).iter().find(|own| own.rail == rail)?;
    (link.nic.as_deref() == Some(&own.nic)).then_some((peer, rail))
}

/// The only rail to a peer, if it has one.
fn only_rail(cx: &Context<'_>, peer: Peer) -> Option<u8> {
    let record = cx.record(peer).filter(|record| matches!(record.route, Route::Net(_)) && !record.gone)?;
    let stats = cx.net.proto().rail_stats(record.conn?);
    let mut up = stats.filter(|one| one.path.rail != ROUTED && one.state == RailState::Up);
    let rail = up.next()?.path.rail;
    // A rail has two lanes.
    up.all(|one| one.path.rail == rail).then_some(rail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_arrive_fast_and_one_by_one_are_costly() {
        let before = Seen { packets: 10, bytes: 10_000, coalesced: 3 };
        let second = 1_000_000_000;
        let after = |packets: u64, length: u64, coalesced: u64| Seen {
            packets: before.packets + packets,
            bytes: before.bytes + packets * length,
            coalesced: before.coalesced + coalesced,
        };
        assert!(after(500_000, 1450, 0).is_costly_since(&before, second));
        assert!(after(500_000, 1450, 5_000).is_costly_since(&before, second));
        assert!(!after(500_000, 1450, 20_000).is_costly_since(&before, second), "joined");
        assert!(!after(90_000, 1450, 0).is_costly_since(&before, second), "a cable of 1 Gbit/s");
        assert!(after(90_000, 1450, 0).is_costly_since(&before, second / 2), "a faster one");
        assert!(!after(100_000, 8_950, 0).is_costly_since(&before, second), "jumbo frames");
        assert!(!after(1_000_000, 200, 0).is_costly_since(&before, second), "short messages");
        assert!(!after(100, 1450, 0).is_costly_since(&before, 1), "too few");
        assert!(!before.is_costly_since(&before, second), "nothing");
    }
}
