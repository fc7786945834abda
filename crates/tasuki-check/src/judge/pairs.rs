//! Compares pairs of hosts, measured by their identity addresses, with similar pairs.

use crate::{
    finding::{Finding, Kind, Part},
    statistics::median,
};
use std::collections::{BTreeMap, BTreeSet};
use tasuki_cluster::{Cluster, HostId};

/// A pair is an outlier if its round trip is this many times that of similar pairs, and longer by the next
/// constant.
const LATE_RATIO: f64 = 8.0;
const LATE_US: f64 = 500.0;
/// A pair is an outlier if its stream gets less than this share of what similar pairs get.
const SLOW_PART: f64 = 0.4;

/// What was measured of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The two hosts.
    pub hosts: [HostId; 2],
    /// Low quantile of the round trips, microseconds; `None`: nothing was answered.
    pub latency_us: Option<f64>,
    /// Rate of a TCP stream, bit/s; `None`: it was not measured.
    pub rate: Option<f64>,
}

/// The class of a pair: number of hosts in between, and line rate in bit/s. Pairs of one class are similar.
pub fn class(cluster: &Cluster, [a, b]: [HostId; 2]) -> (usize, u64) {
    let rails = cluster.rails(a, b);
    let rate = if rails.iter().all(|rail| rail.is_direct()) {
        rails.iter().map(|rail| rail.rate.bits_per_second).sum()
    } else {
        rails.iter().map(|rail| rail.rate.bits_per_second).min().unwrap_or(0)
    };
    (rails.first().map_or(0, |rail| rail.relays.len()), rate)
}

/// Names of all parts on the routes between two hosts.
fn parts(cluster: &Cluster, [a, b]: [HostId; 2]) -> BTreeSet<String> {
    let mut parts: BTreeSet<String> = [a, b].iter().map(|&host| cluster.host_of(host).name.clone()).collect();
    for rail in cluster.rails(a, b) {
        parts.extend(rail.relays.iter().map(|&host| cluster.host_of(host).name.clone()));
        parts.extend(
            rail.cables
                .iter()
                .flat_map(|&cable| cluster.cable_of(cable).ends)
                .map(|end| cluster.end_name(end)),
        );
    }
    parts
}

/// Pairs that cannot communicate, or do so far worse than similar pairs, unless a part on their route is
/// blamed already.
pub fn judge(cluster: &Cluster, pairs: &[Pair], blamed: &[Finding]) -> Vec<Finding> {
    let names: BTreeSet<String> = blamed
        .iter()
        .flat_map(|finding| finding.part.name().split(" - ").map(str::to_owned).collect::<Vec<_>>())
        .flat_map(|name| [name.split(':').next().unwrap_or_default().to_owned(), name])
        .collect();
    let mut alike: BTreeMap<(usize, u64), Vec<&Pair>> = BTreeMap::new();
    for pair in pairs {
        alike.entry(class(cluster, pair.hosts)).or_default().push(pair);
    }
    let mut findings = Vec::new();
    for pair in pairs {
        // A routed pair may use more routes than those whose parts are named here.
        let is_routed = class(cluster, pair.hosts).0 > 0;
        let is_blamed = || parts(cluster, pair.hosts).iter().any(|part| names.contains(part));
        if (is_routed && !names.is_empty()) || is_blamed() {
            continue;
        }
        let [a, b] = pair.hosts.map(|host| cluster.host_of(host).name.as_str());
        let part = || Part::Route(format!("{a} - {b}"));
        let Some(latency) = pair.latency_us else {
            let says = format!("{a} and {b} cannot reach each other by their identity addresses");
            findings.push(Finding::new(
                2,
                Kind::Unreachable,
                part(),
                says,
                "a firewall? Otherwise `tasuki diff` on both",
            ));
            continue;
        };
        let others = &alike[&class(cluster, pair.hosts)];
        let usual = median(others.iter().filter_map(|other| other.latency_us));
        if latency > usual * LATE_RATIO && latency > usual + LATE_US {
            let says =
                format!("{a} and {b}: a round trip takes {latency:.0} us, pairs alike take {usual:.0}");
            findings.push(Finding::new(
                2,
                Kind::Outlier,
                part(),
                says,
                "look at interrupt delay and processor load of both, and of the hosts in between",
            ));
        }
        let usual = median(others.iter().filter_map(|other| other.rate));
        if let Some(rate) = pair.rate.filter(|rate| *rate < usual * SLOW_PART) {
            let says = format!(
                "{a} and {b}: a stream has {:.1} Mbit/s, pairs alike have {:.1}",
                rate / 1e6,
                usual / 1e6
            );
            findings.push(Finding::new(
                2,
                Kind::Outlier,
                part(),
                says,
                "offloads (`ethtool -k`), processor load, or a slow host in between",
            ));
        }
    }
    findings
}

/// Blames the cable for the slow streams of pairs that are joined by one cable and nothing else. To be called
/// once the outliers are confirmed.
pub fn narrow(cluster: &Cluster, pairs: &[Pair], findings: &mut [Finding]) {
    for pair in pairs {
        let rails = cluster.rails(pair.hosts[0], pair.hosts[1]);
        let [rail] = &rails[..] else { continue };
        let ([cable], true) = (&rail.cables[..], rail.is_direct()) else { continue };
        let [a, b] = pair.hosts.map(|host| cluster.host_of(host).name.as_str());
        let route = Part::Route(format!("{a} - {b}"));
        let is_slow = |finding: &&mut Finding| finding.part == route && finding.says.contains("a stream has");
        for finding in findings.iter_mut().filter(is_slow) {
            let ends = cluster.cable_of(*cable).ends.map(|end| cluster.end_name(end));
            (finding.kind, finding.part) = (Kind::Slow, Part::Cable(ends.join(" - ")));
        }
    }
}
