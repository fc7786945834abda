//! The load of a NIC, with what processes that use it have counted.

use crate::{HostSample, NicSample, ProcessSample, per_second};
use serde::Serialize;
use tasuki_ring::stats_page::RailRecord;

/// What a NIC does now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NicLoad {
    /// The host's name.
    pub host: String,
    /// Interface name.
    pub nic: String,
    /// What is at the other end of its cable, as `n2 eth1`; `None`: the cluster file does not say.
    pub to: Option<String>,
    /// Whether it is up and has a signal from the other end.
    pub up: bool,
    /// Line rate, bit/s, of the cluster file or else of the driver.
    pub bits_per_second: Option<u64>,
    /// Bytes per second that it sends.
    pub sent: f64,
    /// Bytes per second that it receives.
    pub received: f64,
    /// Frames per second that it sends.
    pub sent_frames: f64,
    /// Frames per second that it receives.
    pub received_frames: f64,
    /// Damaged frames per second.
    pub errors: f64,
    /// Damaged frames since the host booted.
    pub errors_total: u64,
    /// Frames per second for which there was no room.
    pub dropped: f64,
    /// Frames for which there was no room, since the host booted.
    pub dropped_total: u64,
    /// Packets per second that processes of this host sent over it and hold to be lost.
    pub lost: f64,
    /// Bytes per second that they send again.
    pub resent: f64,
}

impl NicLoad {
    /// Share of the line in the fuller direction, 0 to 1; `None`: its rate is not known.
    pub fn of_line(&self) -> Option<f64> {
        let rate = self.bits_per_second.filter(|rate| *rate > 0)?;
        Some(8.0 * self.sent.max(self.received) / rate as f64)
    }

    /// Of two samples of a host.
    pub(crate) fn between(host: &str, before: &HostSample, now: &HostSample, wanted: &NicSample) -> Self {
        let seconds = now.seconds_since(before);
        let unknown = NicSample::default();
        let old = before.nics.iter().find(|nic| nic.name == wanted.name);
        // Of a NIC that has just appeared no rate is known.
        let (old, seconds) = old.map_or((&unknown, 0.0), |old| (old, seconds));
        let rate = |of: fn(&NicSample) -> u64| per_second(of(old), of(wanted), seconds);
        let rails = |of: fn(&RailRecord) -> u64| {
            let pairs = now.processes.iter().filter_map(|process| {
                let old = before.processes.iter().find(|old| old.is_same(process))?;
                Some(per_second(over(old, &wanted.name, of), over(process, &wanted.name, of), seconds))
            });
            pairs.sum()
        };
        Self {
            host: host.into(),
            nic: wanted.name.clone(),
            to: None,
            up: wanted.up,
            bits_per_second: wanted.bits_per_second,
            sent: rate(|nic| nic.sent_bytes),
            received: rate(|nic| nic.received_bytes),
            sent_frames: rate(|nic| nic.sent_frames),
            received_frames: rate(|nic| nic.received_frames),
            errors: rate(|nic| nic.errors),
            errors_total: wanted.errors,
            dropped: rate(|nic| nic.dropped),
            dropped_total: wanted.dropped,
            lost: rails(|rail| rail.lost),
            resent: rails(|rail| rail.resent),
        }
    }
}

/// A counter of all of a process's rails that use a NIC.
fn over(process: &ProcessSample, nic: &str, of: fn(&RailRecord) -> u64) -> u64 {
    let rails = process.page.peers.iter().flat_map(|peer| &peer.rails);
    rails.filter(|rail| rail.nic == nic).map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_ring::stats_page::{PeerSnapshot, Snapshot};

    fn sample(at_ns: u64, sent_bytes: u64, lost: u64) -> HostSample {
        let rail = |nic: &str, lost| RailRecord { nic: nic.into(), lost, ..RailRecord::default() };
        let rails = vec![rail("eth1", lost), rail("eth2", 7 * lost)];
        let page = Snapshot {
            pid: 5,
            peers: vec![PeerSnapshot { rails, ..Default::default() }],
            ..Default::default()
        };
        HostSample {
            at_ns,
            nics: vec![NicSample { name: "eth1".into(), sent_bytes, errors: 3, ..NicSample::default() }],
            processes: vec![ProcessSample { page, ..ProcessSample::default() }],
            ..HostSample::default()
        }
    }

    #[test]
    fn rates_are_growth_by_time_of_the_hosts_own_clock() {
        let (before, now) = (sample(1_000_000_000, 5000, 10), sample(3_000_000_000, 25_000, 14));
        let mut load = NicLoad::between("n1", &before, &now, &now.nics[0]);
        assert_eq!((load.sent, load.received, load.lost), (10_000.0, 0.0, 2.0));
        assert_eq!((load.errors, load.errors_total), (0.0, 3));
        assert_eq!(load.of_line(), None);
        load.bits_per_second = Some(160_000);
        assert_eq!(load.of_line(), Some(0.5));
    }

    #[test]
    fn a_nic_or_a_process_that_has_just_appeared_has_no_rate() {
        let (mut before, now) = (sample(0, 5000, 10), sample(1_000_000_000, 25_000, 14));
        before.processes[0].page.pid = 6;
        assert_eq!(NicLoad::between("n1", &before, &now, &now.nics[0]).lost, 0.0);
        before.nics.clear();
        assert_eq!(NicLoad::between("n1", &before, &now, &now.nics[0]).sent, 0.0);
    }
}
