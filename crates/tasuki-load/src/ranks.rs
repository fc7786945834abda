//! The load of a process that uses Tasuki.

use crate::{ProcessSample, per_second};
use serde::Serialize;

/// What a process does now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RankLoad {
    /// The host's name.
    pub host: String,
    /// Process id on that host.
    pub pid: u32,
    /// The program's name.
    pub program: String,
    /// Its rank, if a launcher has set one.
    pub rank: Option<u32>,
    /// The job of the resident runtime that it belongs to.
    pub job: Option<String>,
    /// Processors that it keeps working: 1 is one of them all the time; `None`: unknown.
    pub busy: Option<f64>,
    /// Its memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Messages per second that it sends.
    pub messages_sent: f64,
    /// Messages per second that it receives.
    pub messages_received: f64,
    /// Bytes of messages per second that it sends.
    pub sent: f64,
    /// Bytes of messages per second that it receives.
    pub received: f64,
    /// Bytes of long messages per second that streams and length-coded bulk carry, both ways together: also
    /// while such a message is under way, which counts as sent and received once it is whole.
    pub carried: f64,
    /// Receives that it has posted and that no message has matched yet.
    pub posted: u64,
    /// Messages that have come before a receive for them.
    pub unexpected: u64,
    /// Sends that are not complete.
    pub sending: u64,
    /// Peers that are held to be dead.
    pub dead_peers: usize,
}

impl RankLoad {
    /// Of two samples of a process on `host`, `seconds` apart; `before` is `None` if it has just begun.
    pub(crate) fn between(
        host: &str,
        before: Option<&ProcessSample>,
        now: &ProcessSample,
        seconds: f64,
    ) -> Self {
        let (page, totals) = (&now.page, &now.page.endpoint);
        let seconds = before.map_or(0.0, |_| seconds);
        let old = before.map(|before| before.page.endpoint.clone()).unwrap_or_default();
        let old_carried = before.map_or(0, |before| before.page.carried);
        let busy = before.and_then(|before| Some(per_second(before.cpu_ns?, now.cpu_ns?, seconds) / 1e9));
        Self {
            host: host.into(),
            pid: now.pid(),
            program: page.program.clone(),
            rank: page.rank,
            job: now.job.clone(),
            busy,
            memory_bytes: now.memory,
            messages_sent: per_second(old.messages_sent, totals.messages_sent, seconds),
            messages_received: per_second(old.messages_received, totals.messages_received, seconds),
            sent: per_second(old.bytes_sent, totals.bytes_sent, seconds),
            received: per_second(old.bytes_received, totals.bytes_received, seconds),
            carried: per_second(old_carried, page.carried, seconds),
            posted: totals.receives_posted,
            unexpected: totals.unexpected,
            sending: page.sends_pending(),
            dead_peers: page.dead_peers(),
        }
    }
}

impl RankLoad {
    /// Adds what another endpoint of the process does.
    pub(crate) fn absorb(&mut self, other: &Self) {
        let sums: [(&mut f64, f64); 5] = [
            (&mut self.messages_sent, other.messages_sent),
            (&mut self.messages_received, other.messages_received),
            (&mut self.sent, other.sent),
            (&mut self.received, other.received),
            (&mut self.carried, other.carried),
        ];
        sums.into_iter().for_each(|(sum, of)| *sum += of);
        self.posted += other.posted;
        self.unexpected += other.unexpected;
        self.sending += other.sending;
        self.dead_peers += other.dead_peers;
        // One that has just begun does not know what the process did before.
        self.busy = self.busy.or(other.busy);
        self.rank = self.rank.or(other.rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_ring::stats_page::{EndpointRecord, Snapshot};

    #[test]
    fn a_process_that_has_just_begun_has_no_rate_and_no_share() {
        let sample = |bytes_sent, cpu_ns| ProcessSample {
            page: Snapshot {
                rank: Some(3),
                endpoint: EndpointRecord { bytes_sent, receives_posted: 2, ..EndpointRecord::default() },
                carried: 2 * bytes_sent,
                ..Snapshot::default()
            },
            cpu_ns: Some(cpu_ns),
            ..ProcessSample::default()
        };
        let (old, new) = (sample(1000, 4_000_000_000), sample(9000, 5_000_000_000));
        let load = RankLoad::between("n1", Some(&old), &new, 2.0);
        assert_eq!((load.sent, load.busy, load.posted), (4000.0, Some(0.5), 2));
        assert_eq!(load.carried, 8000.0);
        let first = RankLoad::between("n1", None, &new, 2.0);
        assert_eq!((first.sent, first.carried, first.busy), (0.0, 0.0, None));
    }
}
