//! `tasuki check` against faults that it is not told about. Every trial has a seed of its own:
//! `TASUKI_TRIAL=seed TASUKI_PLANT=Loss cargo test --release --test labs check::one_trial -- --nocapture`
//! repeats one.

use crate::support::{
    TestLab, background, ok, seed, skip_without_root, tasuki, text,
    trial::{FAULTS, Plant, run},
};
use serde_json::Value;
use std::process::Command;
use tasuki_random::Random;

/// Runs trials, and reports all failures at the end.
fn trials(all: impl IntoIterator<Item = (u64, Plant)>, hosts_max: usize) {
    let (mut failures, mut count) = (Vec::new(), 0);
    for (seed, plant) in all {
        count += 1;
        if let Err(why) = run(seed, plant, hosts_max) {
            eprintln!("trial {count}: {why}");
            failures.push(why);
        }
    }
    eprintln!("{} of {count} trials went well", count - failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_kind_of_fault_is_named_and_a_healthy_cluster_is_not() {
    let test = "every_kind_of_fault_is_named_and_a_healthy_cluster_is_not";
    if skip_without_root(test) {
        return;
    }
    let mut random = Random::new(seed(test));
    let plants = FAULTS.into_iter().chain([Plant::Nothing; 2]);
    trials(plants.map(|plant| (random.below(u64::MAX), plant)).collect::<Vec<_>>(), 8);
}

/// The long test: 200 faults in clusters of 4 to 16 hosts, and 20 healthy clusters. TASUKI_TRIALS sets
/// another number of faults.
#[test]
#[ignore = "takes an hour"]
fn two_hundred_random_faults_and_twenty_healthy_clusters() {
    let test = "two_hundred_random_faults_and_twenty_healthy_clusters";
    if skip_without_root(test) {
        return;
    }
    let mut random = Random::new(seed(test));
    let faults: u64 = std::env::var("TASUKI_TRIALS").ok().and_then(|count| count.parse().ok()).unwrap_or(200);
    let mut all = Vec::new();
    for number in 0..faults {
        all.push((random.below(u64::MAX), FAULTS[number as usize % FAULTS.len()]));
        if number % 10 == 9 {
            all.push((random.below(u64::MAX), Plant::Nothing));
        }
    }
    trials(all, 16);
}

/// On a machine with far more work than cores, a planted program gets next to no processor time, like
/// everything else: the program must be found all the same, and nothing else. The first two seeds once gave
/// wrong verdicts on such a machine.
#[test]
#[ignore = "long: it keeps the machine busy"]
fn verdicts_on_an_overloaded_machine() {
    if skip_without_root("verdicts_on_an_overloaded_machine") {
        return;
    }
    let spin = |_| background(Command::new("sh").args(["-c", "while :; do :; done"]));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let _spinning: Vec<_> = (0..10 * cores).map(spin).collect();
    trials(
        [
            (1_276_062, Plant::Load),
            (1_363_171, Plant::Load),
            (1_763_171, Plant::Nothing),
            (1_683_981, Plant::Nothing),
        ],
        16,
    );
}

/// Repeats one trial.
#[test]
#[ignore = "only with TASUKI_TRIAL"]
fn one_trial() {
    let Some(seed) = std::env::var("TASUKI_TRIAL").ok().and_then(|seed| seed.parse().ok()) else { return };
    let name = std::env::var("TASUKI_PLANT").unwrap_or_default();
    let plant = FAULTS.into_iter().find(|plant| format!("{plant:?}") == name).unwrap_or(Plant::Nothing);
    let most = std::env::var("TASUKI_HOSTS").ok().and_then(|most| most.parse().ok()).unwrap_or(16);
    trials([(seed, plant)], most);
}

/// A host that cannot be checked is named, with exit code 3, and the rest is checked.
#[test]
fn hosts_that_do_not_answer_are_named() {
    if skip_without_root("hosts_that_do_not_answer_are_named") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.toml");
    std::fs::write(&file, ok(tasuki().args(["cluster", "new", "full:2"]))).expect("writes");
    let refused = |mut command: Command, argv: &[&str]| {
        let output = command.output().expect("runs");
        assert_eq!(output.status.code(), Some(3), "{}", text(&output));
        argv.iter()
            .for_each(|word| assert!(text(&output).contains(word), "{word:?} is not in {}", text(&output)));
    };
    let mut command = tasuki();
    command.arg("check").arg(&file).args(["--ssh", "/no/such/ssh"]);
    refused(command, &["n1", "n2", "/no/such/ssh"]);
    let mut command = tasuki();
    command.arg("check").arg(&file).args(["--ssh", "false"]);
    refused(command, &["n1", "could not be checked"]);
    let mut command = tasuki();
    command.args(["check", "--lab", "no-such-lab"]);
    refused(command, &["no-such-lab"]);
}

/// A host whose NICs take frames of different lengths sends to each what that one takes: frames of the first
/// one's length would not leave by the others, and what was not sent is not missed.
#[test]
fn a_slow_cable_is_found_beside_one_with_longer_frames() {
    if skip_without_root("a_slow_cable_is_found_beside_one_with_longer_frames") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.toml");
    let plain = ok(tasuki().args(["cluster", "new", "full:3", "--rate", "100M"]));
    // The cable between the first two hosts, which is at the first NIC of both.
    let longer = plain.replacen(r#"{ name = "eth1" }"#, r#"{ name = "eth1", mtu = 9000 }"#, 2);
    std::fs::write(&file, longer).expect("writes");
    let path = file.to_str().expect("UTF-8");
    let lab = TestLab::up("frames", &[path, "--bare"]);
    ok(tasuki().args(["apply", path, "--lab", &lab.name, "--no-watch"]));
    let check = || {
        let output = tasuki().args(["check", path, "--lab", &lab.name, "--json"]).output().expect("runs");
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
        let findings = report["findings"].as_array().expect("findings").iter();
        findings.map(|found| (found["kind"].clone(), found["part"]["name"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(check(), [], "all is well");
    ok(tasuki().args(["lab", "rate", "n1-n3", "20M", "--lab", &lab.name]));
    assert_eq!(check(), [("slow".into(), "n1:eth2 - n3:eth1".into())]);
}
