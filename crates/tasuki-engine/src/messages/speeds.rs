//! How fast messages have left for peers in packets: what tells a cable that is worth a stream.

use std::collections::BTreeMap;

use tasuki_proto::Time;
use tasuki_tuning::streams;

use crate::api::Peer;

/// What is known of the way to one peer.
#[derive(Clone, Copy, Default)]
struct Speed {
    /// Messages of a length at which a stream costs less, and how many of them were fast.
    messages: u32,
    fast: u32,
    /// Messages under way, since when there have been some, and the bytes that were acknowledged since.
    open: u32,
    since: Time,
    bytes: u64,
}

/// The speeds of all peers.
#[derive(Default)]
pub(super) struct Speeds(BTreeMap<Peer, Speed>);

impl Speeds {
    /// Whether the speed of a message of this length tells something.
    #[inline]
    pub fn measures(len: u64) -> bool {
        (streams::PUSH_MIN..=streams::WHOLE_MAX).contains(&len)
    }

    /// A message is posted.
    pub fn begin(&mut self, peer: Peer, now: Time) {
        let speed = self.0.entry(peer).or_default();
        if speed.open == 0 {
            (speed.since, speed.bytes) = (now, 0);
        }
        speed.open += 1;
    }

    /// A message is over; `acknowledged`: its packets have arrived.
    pub fn end(&mut self, peer: Peer, len: u64, acknowledged: bool, now: Time) {
        let speed = self.0.entry(peer).or_default();
        speed.open = speed.open.saturating_sub(1);
        if acknowledged {
            speed.bytes += len;
            let rate = speed.bytes as f64 * 1e9 / now.since_ns(speed.since).max(1) as f64;
            speed.messages += 1;
            speed.fast += u32::from(rate >= streams::RATE_MIN);
            if speed.messages >= streams::REMEMBERED {
                (speed.messages, speed.fast) = (speed.messages / 2, speed.fast / 2);
            }
        }
    }

    /// Whether many messages went to the peer, and most of them faster than a slow cable carries them.
    pub fn is_fast(&self, peer: Peer) -> bool {
        let speed = self.0.get(&peer);
        speed.is_some_and(|speed| speed.fast >= streams::FREQUENT && speed.fast * 2 >= speed.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(speeds: &mut Speeds, at: u64, took: u64) {
        speeds.begin(Peer(1), Time(at));
        speeds.end(Peer(1), 16 << 10, true, Time(at + took));
    }

    #[test]
    fn a_cable_is_fast_if_most_messages_are() {
        let mut speeds = Speeds::default();
        // 16 KiB at 125 MB/s take 131 us.
        (0..100).for_each(|at| send(&mut speeds, at * 1_000_000, 131_072));
        assert!(!speeds.is_fast(Peer(1)), "a cable of 1 Gbit/s");
        (0..30).for_each(|at| send(&mut speeds, at * 1_000_000, 60_000));
        assert!(!speeds.is_fast(Peer(1)), "what a shaper has saved passes at once");
        (0..1000).for_each(|at| send(&mut speeds, at * 1_000_000, 60_000));
        assert!(speeds.is_fast(Peer(1)) && !speeds.is_fast(Peer(0)));
        let mut rare = Speeds::default();
        send(&mut rare, 0, 1);
        assert!(!rare.is_fast(Peer(1)));
    }

    #[test]
    fn messages_that_are_under_way_together_count_together() {
        let peer = Peer(0);
        let mut speeds = Speeds::default();
        (0..32).for_each(|_| speeds.begin(peer, Time(0)));
        // Each takes long, but one is over every 50 us.
        (1..33).for_each(|at| speeds.end(peer, 16 << 10, true, Time(at * 50_000)));
        assert!(speeds.is_fast(peer));
        let mut failed = Speeds::default();
        (0..32).for_each(|_| failed.begin(peer, Time(0)));
        (1..33).for_each(|at| failed.end(peer, 16 << 10, false, Time(at)));
        assert!(!failed.is_fast(peer));
    }
}
