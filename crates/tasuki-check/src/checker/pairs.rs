//! Stage 2: every pair of hosts.

use super::{Checker, LIMIT};
use crate::{
    finding::{Finding, Kind},
    judge::pairs::{Pair, class, judge, narrow},
    protocol::{Answer, Order},
    statistics::quantile,
};
use std::time::Duration;
use tasuki_cluster::HostId;

/// Number of echoes per pair.
const ECHOES: u32 = 40;
/// Time that a stream takes at the planned rate, and the limits of its length in bytes.
const STREAM_SECONDS: f64 = 0.1;
const STREAM_MIN: u64 = 128 * 1024;
const STREAM_MAX: u64 = 64 << 20;
const STREAM_LIMIT_MS: u64 = 3000;
/// How often an outlier is measured again; the best result counts.
const AGAIN: usize = 3;

impl Checker<'_> {
    /// Runs the stage.
    pub(super) fn pairs(&mut self) {
        let rounds = rounds(self.cluster.hosts.len());
        let mut pairs = Vec::new();
        for (number, round) in rounds.iter().enumerate() {
            (self.progress)(0.6 + 0.15 * number as f64 / rounds.len() as f64, "pairs of hosts");
            // Hosts that share a machine are measured one pair at a time.
            let at_once = if self.options.total_bits_per_second.is_some() { 1 } else { round.len() };
            for some in round.chunks(at_once.max(1)) {
                pairs.extend(self.measure(some));
            }
        }
        // Of the warnings, those of busy programs and of delays say why a host answers late.
        let explains = |one: &&Finding| !one.warning || matches!(one.kind, Kind::Delay | Kind::Load);
        let faults: Vec<_> = self.report.findings.iter().filter(explains).cloned().collect();
        let mut found = judge(self.cluster, &pairs, &faults);
        for _ in 0..AGAIN {
            if found.is_empty() {
                break;
            }
            let odd: Vec<usize> = (0..pairs.len())
                .filter(|&at| {
                    let [a, b] = pairs[at].hosts.map(|host| &self.cluster.host_of(host).name);
                    found.iter().any(|finding| finding.part.name() == format!("{a} - {b}"))
                })
                .collect();
            for at in odd {
                let again = self.measure(&[pairs[at].hosts]);
                if let [again] = again[..] {
                    pairs[at] = best(pairs[at], again);
                }
            }
            found = judge(self.cluster, &pairs, &faults);
        }
        narrow(self.cluster, &pairs, &mut found);
        // A pair that is slow because of a cable that is blamed already gets no finding of its own.
        let (mut found, rest): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.kind == Kind::Slow);
        if found.is_empty() {
            found = rest;
        } else {
            let blamed: Vec<_> = faults.iter().chain(&found).cloned().collect();
            found.extend(judge(self.cluster, &pairs, &blamed));
        }
        self.report.findings.extend(found);
        let row = |pair: &Pair| {
            let [a, b] = pair.hosts.map(|host| self.cluster.host_of(host).name.clone());
            let hops = class(self.cluster, pair.hosts).0 + 1;
            let latency = pair.latency_us.map_or("-".into(), |time| format!("{time:.0}"));
            let rate = pair.rate.map_or("-".into(), |rate| format!("{:.1}", rate / 1e6));
            vec![a, b, hops.to_string(), latency, rate]
        };
        let names =
            ["from", "to", "cables in between", "round trip us", "TCP Mbit/s"].map(str::to_owned).to_vec();
        self.report.tables.push(("Pairs".into(), names, pairs.iter().map(row).collect()));
    }

    /// Measures latency and throughput of pairs that share no host, all at the same time.
    fn measure(&mut self, pairs: &[[HostId; 2]]) -> Vec<Pair> {
        let known: Vec<_> = pairs
            .iter()
            .copied()
            .filter(|pair| pair.iter().all(|host| self.facts[host.0].is_some()))
            .collect();
        let to = |host: usize| known.iter().find(|[from, _]| from.0 == host).map(|pair| pair[1]);
        let (plan, facts, cluster) = (&self.plan, &self.facts, self.cluster);
        let ports =
            |to: HostId| facts[to.0].as_ref().map_or((0, 0), |facts| (facts.udp_port, facts.tcp_port));
        let mut times = self.agents.tell(LIMIT, |host| {
            let to = to(host)?;
            Some(Order::Latency { to: plan.hosts[host].peers[to.0], port: ports(to).0, count: ECHOES })
        });
        let mut rates = self.agents.tell(LIMIT, |host| {
            let to = to(host)?;
            let line = class(cluster, [HostId(host), to]).1;
            let bytes = ((line as f64 * STREAM_SECONDS / 8.0) as u64).clamp(STREAM_MIN, STREAM_MAX);
            Some(Order::Throughput {
                to: plan.hosts[host].peers[to.0],
                port: ports(to).1,
                bytes,
                ms: STREAM_LIMIT_MS,
            })
        });
        let pair = |hosts: &[HostId; 2]| {
            let from = hosts[0].0;
            let latency_us = match times[from].take() {
                Some(Ok(Answer::Times(times))) if !times.is_empty() => Some(quantile(&times, 0.25)),
                _ => None,
            };
            let rate = match rates[from].take() {
                Some(Ok(Answer::Rate(rate))) => Some(rate),
                _ => None,
            };
            Pair { hosts: *hosts, latency_us, rate }
        };
        let measured = known.iter().map(pair).collect();
        std::thread::sleep(Duration::from_millis(1));
        measured
    }
}

fn best(a: Pair, b: Pair) -> Pair {
    let less = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    };
    let more = a.rate.map_or(b.rate, |rate| Some(rate.max(b.rate.unwrap_or(0.0))));
    Pair { hosts: a.hosts, latency_us: less(a.latency_us, b.latency_us), rate: more }
}

/// All pairs in rounds in which no host is twice (the circle method of tournaments).
fn rounds(hosts: usize) -> Vec<Vec<[HostId; 2]>> {
    let even = hosts + hosts % 2;
    let round = |turn: usize| {
        let seat = |at: usize| if at == 0 { 0 } else { (at - 1 + turn) % (even - 1) + 1 };
        let pairs = (0..even / 2).map(|at| [seat(at), seat(even - 1 - at)]);
        let real = pairs.filter(|pair| pair.iter().all(|&host| host < hosts));
        real.map(|[a, b]| [HostId(a.min(b)), HostId(a.max(b))]).collect()
    };
    if hosts < 2 { Vec::new() } else { (0..even - 1).map(round).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_pair_plays_once_and_nobody_twice_in_a_round() {
        for hosts in 0..20 {
            let rounds = rounds(hosts);
            let all: Vec<_> = rounds.iter().flatten().collect();
            assert_eq!(all.len(), hosts * hosts.saturating_sub(1) / 2);
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
            for round in rounds {
                let players: BTreeSet<_> = round.iter().flatten().collect();
                assert_eq!(players.len(), 2 * round.len());
            }
        }
    }
}
