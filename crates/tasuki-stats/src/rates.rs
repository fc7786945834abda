//! Rates: the differences of two looks at the same counters, per second.

use serde::Serialize;
use std::time::Duration;
use tasuki_ring::stats_page::{Lane, PeerSnapshot, RailRecord, Snapshot};

/// Rates of one lane of one rail of a peer, or of all messages of the peer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RailRate {
    /// Number of the rail; `None`: all messages of the peer, whatever carries them.
    pub rail: Option<u8>,
    /// Lane of the rail; `None` if there is no number of a rail.
    pub lane: Option<Lane>,
    /// Bytes sent per second.
    pub sent: f64,
    /// Bytes received per second.
    pub received: f64,
    /// Packets (messages, for a peer) sent per second.
    pub packets: f64,
    /// Bytes sent again per second.
    pub resent: f64,
}

/// Rates of one process's peers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// Host of the process.
    pub host: String,
    /// The process's id on that host.
    pub pid: u32,
    /// Peers by index, each with its messages first and then its rails.
    pub peers: Vec<(usize, Vec<RailRate>)>,
}

impl Rates {
    /// Rates of every process of `now`. They are empty for processes that are not in `before`.
    pub fn between(before: &[Snapshot], now: &[Snapshot], elapsed: Option<Duration>) -> Vec<Rates> {
        let seconds = elapsed.map(|elapsed| elapsed.as_secs_f64()).filter(|seconds| *seconds > 0.0);
        let one = |page: &Snapshot| {
            let is_same = |other: &&Snapshot| {
                other.is_of_same_process(page) && other.identity.address == page.identity.address
            };
            let old = before.iter().find(is_same);
            let peers = match (old, seconds) {
                (Some(old), Some(seconds)) => peers(old, page, seconds),
                _ => Vec::new(),
            };
            Rates { host: page.host.clone(), pid: page.pid, peers }
        };
        now.iter().map(one).collect()
    }

    /// The rate of a lane of a rail of a peer; without a rail, the rate of all messages of the peer.
    pub fn of(&self, peer: usize, rail: Option<(u8, Lane)>) -> Option<&RailRate> {
        let (_, rates) = self.peers.iter().find(|(index, _)| *index == peer)?;
        rates.iter().find(|rate| rate.rail.zip(rate.lane) == rail)
    }
}

fn peers(old: &Snapshot, new: &Snapshot, seconds: f64) -> Vec<(usize, Vec<RailRate>)> {
    let of = |new: &PeerSnapshot| {
        // The place of a peer in the page may have been given to another one since.
        let same = |other: &&PeerSnapshot| other.index == new.index && other.peer.name == new.peer.name;
        let old = old.peers.iter().find(same)?;
        Some((new.index, peer(old, new, seconds)))
    };
    new.peers.iter().filter_map(of).collect()
}

fn peer(old: &PeerSnapshot, new: &PeerSnapshot, seconds: f64) -> Vec<RailRate> {
    // A counter that is lower than before has been reset, so nothing is known of its rate.
    let rate = |old: u64, new: u64| new.saturating_sub(old) as f64 / seconds;
    let messages = RailRate {
        rail: None,
        lane: None,
        sent: rate(old.peer.bytes_sent, new.peer.bytes_sent),
        received: rate(old.peer.bytes_received, new.peer.bytes_received),
        packets: rate(old.peer.messages_sent, new.peer.messages_sent),
        resent: 0.0,
    };
    let rail = |new: &RailRecord| {
        let old = old.rails.iter().find(|old| (old.rail, old.lane) == (new.rail, new.lane))?;
        Some(RailRate {
            rail: Some(new.rail),
            lane: Some(new.lane),
            sent: rate(old.bytes_sent, new.bytes_sent),
            received: rate(old.bytes_received, new.bytes_received),
            packets: rate(old.packets_sent, new.packets_sent),
            resent: rate(old.resent, new.resent),
        })
    };
    [messages].into_iter().chain(new.rails.iter().filter_map(rail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_ring::stats_page::PeerRecord;

    fn page(host: &str, pid: u32, bytes: u64, rails: &[(u8, u64, u64)]) -> Snapshot {
        let rail = |&(rail, bytes_sent, resent): &(u8, u64, u64)| RailRecord {
            rail,
            bytes_sent,
            resent,
            ..RailRecord::default()
        };
        let peer = PeerRecord { name: "n2".into(), bytes_sent: bytes, ..PeerRecord::default() };
        let peer = PeerSnapshot { index: 3, peer, rails: rails.iter().map(rail).collect() };
        Snapshot { host: host.into(), pid, peers: vec![peer], ..Snapshot::default() }
    }

    #[test]
    fn rates_are_differences_by_time() {
        let (old, new) =
            (page("n1", 7, 1000, &[(0, 500, 1), (1, 0, 0)]), page("n1", 7, 5000, &[(0, 1500, 2)]));
        let rates = Rates::between(&[old], &[new], Some(Duration::from_secs(2)));
        assert_eq!(rates[0].of(3, None).map(|rate| rate.sent), Some(2000.0));
        assert_eq!(
            rates[0].of(3, Some((0, Lane::Udp))).map(|rate| (rate.sent, rate.resent)),
            Some((500.0, 0.5))
        );
        assert_eq!(rates[0].of(3, Some((0, Lane::Raw))), None, "each lane by itself");
        assert_eq!(rates[0].of(3, Some((1, Lane::Udp))), None, "the rail is gone");
    }

    #[test]
    fn another_process_of_the_same_number_and_the_first_look_have_no_rates() {
        let (old, new) = (page("n1", 7, 1000, &[]), page("n2", 7, 5000, &[]));
        assert!(
            Rates::between(std::slice::from_ref(&old), &[new], Some(Duration::from_secs(1)))[0]
                .peers
                .is_empty()
        );
        assert!(Rates::between(&[], std::slice::from_ref(&old), None)[0].peers.is_empty());
        let mut anew = old.clone();
        anew.identity.address = "another endpoint".into();
        assert!(Rates::between(&[old], &[anew], Some(Duration::from_secs(1)))[0].peers.is_empty());
    }
}
