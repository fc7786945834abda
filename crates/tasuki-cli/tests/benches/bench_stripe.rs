//! `tasuki bench stripe` and `tasuki bench cross`: every way to bundle NICs uses the NICs that it should, by
//! their counters; a processor that is made slow is slow; nothing is left behind.

use crate::support::{eventually, labs, skip_without_root, tasuki, text};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    collections::BTreeMap,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// Runs a bench, expects success and that it has left nothing behind, and returns its JSON.
fn bench(argv: &[&str]) -> serde_json::Value {
    let mut command = tasuki();
    command.arg("bench").args(argv).arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("starts");
    let id = child.id();
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{}", text(&output));
    leaves_nothing(id);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Checks that there is no lab and no control group of this process.
fn leaves_nothing(id: u32) {
    assert_eq!(groups(id), Vec::<String>::new());
    assert_eq!(labs(id), Vec::<String>::new());
}

/// Shares of the NICs eth1, eth2, ... in what the receiver got.
fn shares(record: &serde_json::Value) -> Vec<f64> {
    let sample = &record["samples"][0]["receiver"]["received_by"];
    let all: BTreeMap<String, u64> = serde_json::from_value(sample.clone()).expect("NICs");
    let nics: Vec<f64> =
        all.iter().filter(|(name, _)| name.starts_with("eth")).map(|(_, bytes)| *bytes as f64).collect();
    let sum: f64 = nics.iter().sum();
    nics.iter().map(|bytes| bytes / sum).collect()
}

fn of<'a>(report: &'a serde_json::Value, way: &str) -> &'a serde_json::Value {
    let records = report["records"].as_array().expect("records");
    records.iter().find(|record| record["way"] == way).unwrap_or_else(|| panic!("no {way} in {report:#}"))
}

/// Control groups of a bench that runs as this process.
fn groups(id: u32) -> Vec<String> {
    let name = format!("tasuki-bench-{id}-*");
    let found = Command::new("find").args(["/sys/fs/cgroup", "-maxdepth", "2", "-name", &name]).output();
    let found = found.expect("find runs");
    String::from_utf8_lossy(&found.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn every_way_takes_the_nics_that_it_should() {
    if skip_without_root("every_way_takes_the_nics_that_it_should") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let case = ["stripe", "--network", "switch", "--nics", "1,2", "--bytes", "1024", "--cpu", "fast"];
    let ways = "round-robin,shortest-delay,bond-fixed,bond-one-mac,mptcp";
    let how = ["--way", ways, "--rate", "20M", "--repetitions", "1", "--seconds", "0.6", "--output", path];
    let report = bench(&[&case[..], &how[..]].concat());
    assert_eq!(report["failures"], serde_json::json!([]), "{report:#}");
    assert_eq!(report["records"].as_array().map(Vec::len), Some(6));
    // One NIC, and bonding to one address, receive by one NIC; the others get only a few frames of ARP and
    // the like.
    for way in ["one", "bond-fixed"] {
        let shares = shares(of(&report, way));
        assert!(shares[0] > 0.98, "{way}: {shares:?}");
    }
    let in_turn = shares(of(&report, "round-robin"));
    assert!(in_turn.iter().all(|share| (share - 0.5).abs() < 0.05), "{in_turn:?}");
    for way in ["shortest-delay", "bond-one-mac", "mptcp"] {
        let shares = shares(of(&report, way));
        assert!(shares.iter().all(|share| *share > 0.1), "{way}: {shares:?}");
    }
    // What is received within 0.6 s has arrived in that time or at most 0.3 s before, at 2.5 MB/s and what a
    // shaper saves up.
    for (way, nics) in [("one", 1.0), ("bond-fixed", 1.0), ("round-robin", 2.0), ("mptcp", 2.0)] {
        let rate = of(&report, way)["mb_per_s"]["median"].as_f64().expect("a rate");
        assert!(rate > 0.0 && rate < nics * (2.5 * 1.0 + 0.07) / 0.6, "{way}: {rate} MB/s");
    }
    for name in ["stripe.txt", "stripe.json", "stripe-1024-fast.svg"] {
        assert!(folder.path().join(name).is_file(), "{name} was not written");
    }
}

/// With a quota of a hundredth of a processor, the process of neither side gets more than that.
#[test]
fn a_slow_processor_is_slow_and_leaves_nothing() {
    if skip_without_root("a_slow_processor_is_slow_and_leaves_nothing") {
        return;
    }
    let case =
        ["stripe", "--network", "cables", "--nics", "2", "--bytes", "1024", "--cpu", "slow", "--quota", "1"];
    let how = ["--way", "round-robin,mptcp", "--repetitions", "1", "--seconds", "1.5"];
    let report = bench(&[&case[..], &how[..]].concat());
    // The programs that are compared with are not slowed, as in the paper.
    assert_eq!(report["records"].as_array().map(Vec::len), Some(1), "{report:#}");
    let record = &report["records"][0];
    assert_eq!(record["quota_percent"], 1.0);
    for side in ["sender_percent", "receiver_percent"] {
        let process = record[side]["process"].as_f64().expect("a share");
        // A process is stopped at the next tick of 10 ms and makes up for it later, so in all it gets at most
        // one tick too much.
        assert!(process < 1.0 + 100.0 * 0.010 / 1.5 + 0.5, "{side}: {process} %");
    }
}

/// After Ctrl-C the figures so far are shown, and labs and groups are gone.
#[test]
fn an_interrupted_bench_shows_what_it_has_and_cleans_up() {
    if skip_without_root("an_interrupted_bench_shows_what_it_has_and_cleans_up") {
        return;
    }
    let mut command = tasuki();
    command.args(["bench", "stripe", "--network", "cables", "--nics", "1,2", "--way", "shortest-delay"]);
    command.args([
        "--cpu",
        "fast,slow",
        "--quota",
        "50",
        "--seconds",
        "0.3",
        "--repetitions",
        "1000",
        "--json",
    ]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let id = child.id();
    eventually("it is measuring", || !groups(id).is_empty());
    thread::sleep(Duration::from_secs(2));
    kill(Pid::from_raw(id.cast_signed()), Signal::SIGINT).expect("it runs");
    let output = child.wait_with_output().expect("ends");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["interrupted"], true, "{}", text(&output));
    leaves_nothing(id);
}

#[test]
fn the_cross_connection_papers_ways_are_measured_beside_a_control() {
    if skip_without_root("the_cross_connection_papers_ways_are_measured_beside_a_control") {
        return;
    }
    let report =
        bench(&["cross", "--rate", "40M", "--delay", "20000", "--repetitions", "1", "--seconds", "0.5"]);
    let rows = report["rows"].as_array().expect("rows");
    let keys: Vec<_> = rows.iter().map(|row| row["key"].as_str().expect("a key")).collect();
    assert_eq!(keys, ["a", "b", "c", "d", "d'", "control"]);
    assert_eq!(report["failures"], serde_json::json!([]));
    let latencies = |row: usize| {
        let samples = rows[row]["ping_pongs"][0]["samples"].clone();
        serde_json::from_value::<Vec<f64>>(samples).expect("samples").into_iter()
    };
    // A host that polls every 20 ms answers no sooner, so such a round trip takes at least that, and half of
    // it 10 ms. A message after a long pause finds it polling, so the mean of some messages is less.
    for delayed in [0, 1] {
        assert!(latencies(delayed).any(|seconds| seconds > 0.005), "{:?}", latencies(delayed));
    }
    // Without the delay some are faster, however busy the machine is.
    for quick in [2, 3] {
        assert!(latencies(quick).any(|seconds| seconds < 0.005), "{:?}", latencies(quick));
    }
    // The wires of the control have half the rate.
    assert_eq!(rows[5]["rate_bps"], 20_000_000);
    let bytes = |row: usize| rows[row]["streams"][0]["received_bytes"][0].as_u64().expect("bytes");
    assert!(bytes(5) as f64 <= 1.1 * 40e6 / 8.0 * 0.6, "{}", bytes(5));
}

#[test]
fn what_cannot_be_measured_is_said_at_once() {
    for (argv, said) in [
        (&["stripe", "--nics", "9"][..], "--nics 9: 1 to 8"),
        (&["stripe", "--repetitions", "0"], "nothing would be measured"),
        (&["stripe", "--way", "bonding"], "there is no way 'bonding': one, shortest-delay"),
        (&["stripe", "--network", "star"], "there is no network 'star': cables, switch, switches"),
        (&["stripe", "--quota", "0"], "0.1 to 100 per cent"),
        (&["stripe", "--seconds", "-1"], "unexpected argument"),
        (&["cross", "--repetitions", "0"], "nothing would be measured"),
        (&["cross", "--delay", "1000000"], "at most 100000"),
    ] {
        let output = tasuki().arg("bench").args(argv).output().expect("starts");
        assert!(!output.status.success() && text(&output).contains(said), "{argv:?}: {}", text(&output));
    }
}
