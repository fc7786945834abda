//! Judges error counters of NICs that have grown.

use crate::{
    finding::{Finding, Kind, Part},
    protocol::{Facts, NicFacts},
};
use std::collections::BTreeMap;
use tasuki_cluster::{Cluster, End, HostId, NicId};

/// Finds error counters that have grown within so many seconds.
pub fn errors(
    cluster: &Cluster,
    before: &[Option<Facts>],
    after: &[Option<Facts>],
    seconds: f64,
    per_hour_max: f64,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Grown { nic, facts, counter, was, now } in grown(cluster, before, after) {
        // A NIC that is set to accept shorter frames than it is sent counts each of them as an error (e1000
        // does); the setting has a finding of its own.
        let is_short = facts.mtu < cluster.nic_of(nic).mtu && counter.starts_with("rx_");
        let grown = now - was;
        let per_hour = grown as f64 * 3600.0 / seconds.max(1.0);
        if is_short || per_hour <= per_hour_max {
            continue;
        }
        let name = cluster.nic_name(nic);
        let says = format!("{name}: {counter} grew by {grown}, {per_hour:.0} an hour");
        let seen = format!("{was} before, {now} after");
        findings.push(counted(cluster, nic, counter, says).seen(seen));
    }
    findings
}

/// Number of frames that hosts were too slow to take, by NIC (Documentation/networking/statistics.rst: both
/// counters are of frames for which the NIC had no room).
pub fn missed(cluster: &Cluster, before: &[Option<Facts>], after: &[Option<Facts>]) -> BTreeMap<NicId, u64> {
    let mut missed = BTreeMap::new();
    for Grown { nic, counter, was, now, .. } in grown(cluster, before, after) {
        if is_of_a_slow_host(counter) {
            *missed.entry(nic).or_insert(0) += now - was;
        }
    }
    missed
}

/// Number of frames that came damaged to NICs, by their own counters of wrong checksums and framing.
pub fn damaged(cluster: &Cluster, before: &[Option<Facts>], after: &[Option<Facts>]) -> BTreeMap<NicId, u64> {
    let mut damaged = BTreeMap::new();
    for Grown { nic, counter, was, now, .. } in grown(cluster, before, after) {
        if matches!(counter, "rx_crc_errors" | "rx_frame_errors") {
            *damaged.entry(nic).or_insert(0) += now - was;
        }
    }
    damaged
}

fn is_of_a_slow_host(counter: &str) -> bool {
    matches!(counter, "rx_missed_errors" | "rx_fifo_errors")
}

/// A counter that is larger than before.
struct Grown<'a> {
    nic: NicId,
    /// The facts of the NIC now.
    facts: &'a NicFacts,
    counter: &'a str,
    was: u64,
    now: u64,
}

fn grown<'a>(
    cluster: &'a Cluster,
    before: &'a [Option<Facts>],
    after: &'a [Option<Facts>],
) -> impl Iterator<Item = Grown<'a>> {
    let both = before.iter().zip(after).enumerate();
    let hosts = both.filter_map(|(host, (before, after))| Some((host, before.as_ref()?, after.as_ref()?)));
    hosts.flat_map(move |(host, before, after)| {
        let is_known = move |facts: &&NicFacts| facts.index < cluster.hosts[host].nics.len();
        after.nics.iter().filter(is_known).flat_map(move |facts| {
            let nic = NicId { host: HostId(host), index: facts.index };
            // A NIC that was not there before has no count to compare with.
            let old = before.nics.iter().find(|old| old.index == facts.index);
            let counters = old.into_iter().flat_map(|old| facts.errors.iter().map(move |one| (old, one)));
            counters.filter_map(move |(old, (counter, now))| {
                let was = old.errors.iter().find(|(known, _)| known == counter).map_or(0, |(_, was)| *was);
                (*now > was).then_some(Grown { nic, facts, counter, was, now: *now })
            })
        })
    })
}

/// The finding for a counter that grows (Documentation/networking/statistics.rst says what each counts).
fn counted(cluster: &Cluster, nic: NicId, counter: &str, says: String) -> Finding {
    let finding = |part, advice| Finding::new(1, Kind::Errors, part, says, advice);
    let setting = || Part::Setting(cluster.nic_name(nic));
    match counter {
        // The frames arrived undamaged, so the cable is not to blame.
        _ if is_of_a_slow_host(counter) => finding(
            setting(),
            "the host was too slow to take all frames: a longer ring (`ethtool -G NIC rx 4096`), programs \
             that use its processor, or interrupts that all go to one core",
        )
        .as_warning(),
        "rx_length_errors" => {
            finding(setting(), "the other end sends longer frames than this one takes: compare both MTUs")
        }
        "collisions" => finding(
            setting(),
            "half duplex: one end is set by hand, the other negotiates: let both negotiate (`ethtool -s NIC \
             autoneg on`)",
        ),
        _ => finding(
            match cluster.cable_at(End::Nic(nic)) {
                Some(_) => Part::Cable(super::cable_name(cluster, nic)),
                None => Part::Nic(cluster.nic_name(nic)),
            },
            "the cable or its plugs first, then the NIC's seat, then the NIC and the port at the other end",
        ),
    }
}
