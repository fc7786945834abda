//! Who is invited to send by stream: those whose packets come fast, and one by one.
//!
//! Where the kernel joins packets (UDP_GRO) they cost less than a stream, and so do large ones. Where it does not, each passes the whole
//! of the kernel alone; TCP's path through it is shorter, and what Tasuki does with each of its own packets is not done. That matters where processors
//! are the limit, not wires.

use tasuki_link::UdpStats;
use tasuki_proto::{RailState, Time};
use tasuki_wire::Lane;

use super::Streams;
use crate::api::Peer;
use crate::peer::Way;
use crate::state::{Link, State};

/// Time between two judgements while datagrams come, ns.
const EVERY: u64 = 20_000_000;
/// Received by a socket between two judgements: fewer packets say nothing.
const PACKETS: u64 = 2_000;
/// Shorter packets are not those of long messages, and much longer ones cost less than a stream, bytes on average.
const LENGTHS: std::ops::Range<u64> = 1_000..2_500;
/// A slower cable is the limit itself, bytes per second: no cable of 1 Gbit/s carries that much.
const FAST: f64 = 160e6;
/// One of so many datagrams may be joined.
const JOINED: u64 = 64;

/// What a UDP socket had received.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    packets: u64,
    bytes: u64,
    coalesced: u64,
}

impl Seen {
    fn of(stats: &UdpStats) -> Seen {
        Seen { packets: stats.received_packets, bytes: stats.received_bytes, coalesced: stats.coalesced }
    }

    /// What came since `before`, in `ns`, came fast and one by one.
    fn is_costly_since(&self, before: &Seen, ns: u64) -> bool {
        let (packets, bytes) = (self.packets - before.packets, self.bytes - before.bytes);
        packets >= PACKETS
            && LENGTHS.contains(&(bytes / packets))
            && (self.coalesced - before.coalesced) * JOINED <= packets
            && bytes as f64 * 1e9 >= FAST * ns as f64
    }
}

impl State {
    /// Invites who should send by stream, and looks after those who come late.
    pub fn invite_to_streams(&mut self, now: Time) {
        self.invite_due = Time(now.0.saturating_add(EVERY));
        let Some(mut streams) = self.core.streams.take() else { return };
        let guests =
            if streams.always { self.all_by_packets() } else { self.costly_senders(&mut streams, now) };
        for (peer, rail) in guests {
            let link = streams.links.entry(peer).or_default();
            if let Some(note) = link.invite(&self.core, peer, rail, now) {
                streams.counters.invited += 1;
                self.core.tell_of_stream(peer, &note);
            }
        }
        streams.links.values_mut().for_each(|link| link.way.look(now));
        self.core.streaming = streams.is_at_work(now);
        self.core.streams = Some(streams);
    }

    /// The same as soon as there is a connection, if everybody is invited.
    pub fn invite_newcomers(&mut self, now: Time) {
        if self.core.streams.as_ref().is_some_and(|streams| streams.always) {
            self.invite_to_streams(now);
        }
    }

    /// All who are reached by packets, and the rail.
    fn all_by_packets(&self) -> Vec<(Peer, u8)> {
        let peers = self.core.peers.iter().enumerate();
        let packets = peers.filter(|(_, state)| {
            matches!(state.way, Way::Packets(_) | Way::Unknown)
                && state.conn.is_some()
                && !state.gone
                && state.reason.is_none()
        });
        packets.map(|(index, _)| Peer(index as u32)).map(|peer| (peer, self.bulk_rail(peer))).collect()
    }

    /// Those whose packets cost more than a stream would, and the rail.
    fn costly_senders(&self, streams: &mut Streams, now: Time) -> Vec<(Peer, u8)> {
        let elapsed = now.0.saturating_sub(streams.judged.0);
        streams.judged = now;
        streams.seen.resize(self.links.len(), Seen::default());
        let costly = |(link, seen): (&Link, &mut Seen)| {
            let before = std::mem::replace(seen, Seen::of(&link.udp.stats()));
            seen.is_costly_since(&before, elapsed).then(|| self.sender_by(link)).flatten()
        };
        // Most often there is none, and then nothing is allocated.
        self.links.iter().zip(&mut streams.seen).filter_map(costly).collect()
    }

    /// Who sends most by a link, if that is the only rail: over several of them packets are spread.
    fn sender_by(&self, link: &Link) -> Option<(Peer, u8)> {
        let [peer] = self.peers_at(link.udp.followed()?)[..] else { return None };
        let state =
            self.core.state(peer).filter(|state| matches!(state.way, Way::Packets(_)) && !state.gone)?;
        let up = self.proto.rail_stats(state.conn?).filter(|one| {
            one.path.lane == Lane::Udp && one.path.rail != crate::rails::ROUTED && one.state == RailState::Up
        });
        let [rail] = up.map(|one| one.path.rail).collect::<Vec<_>>()[..] else { return None };
        let own = self.core.rails.to(state.address.identity).iter().find(|own| own.rail == rail)?;
        (link.nic.as_deref() == Some(&own.nic)).then_some((peer, rail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_fast_and_one_by_one_is_costly() {
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
