//! `tasuki bench cross --kernel`: the networks are what their names say, by the settings and counters of the
//! hosts' NICs; every run is verified; nothing is left behind.

use crate::support::{eventually, labs, mpis::peers, skip_without_root, tasuki, text};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::process::{Command, Stdio};

fn cross(argv: &[&str]) -> Command {
    let mut command = tasuki();
    command.env("TASUKI_PEERS", peers()).args(["bench", "cross", "--kernel", "is", "--class", "S", "--json"]);
    command.args(argv);
    command
}

/// Bytes that a host sent by each of its NICs, in their order.
fn sent(report: &serde_json::Value, network: &str, host: &str) -> Vec<f64> {
    let networks = report["networks"].as_array().expect("networks");
    let found = networks.iter().find(|it| it["network"] == network).expect("the network");
    let nics = found["sent_bytes"][host].as_object().expect("NICs");
    nics.values().map(|bytes| bytes.as_f64().expect("a number")).collect()
}

#[test]
fn programs_run_verified_over_all_cables_of_every_network() {
    if skip_without_root("programs_run_verified_over_all_cables_of_every_network") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = cross(&["--rate", "500M", "--repetitions", "1", "--output"]);
    let child = command.arg(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("starts");
    let id = child.id();
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(labs(id), Vec::<String>::new());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let records = report["records"].as_array().expect("records");
    // There are records of one host alone and of seven networks.
    let names: Vec<_> = records.iter().map(|it| it["network"].as_str().expect("a name")).collect();
    let all = [
        "(a) switch",
        "(b) cables",
        "(b) control",
        "(c) delay off",
        "(d) bonded",
        "(d') striped",
        "(d) control",
    ];
    assert_eq!((names[0], &names[1..]), (all[0], &all[..]));
    assert!(records.iter().all(|record| record["verified"] == true), "{records:#?}");
    assert_eq!((&records[0]["hosts"], &records[5]["hosts"]), (&1.into(), &4.into()));
    assert_eq!(records[5]["step"]["network"], "(c) delay off");
    // Every host sends a sixteenth of all keys to every other in each of ten iterations (IS, class S), so
    // every cable carries some; of two that are bonded each takes every other frame.
    let keys = 0.9 * 10.0 * 4.0 * 65_536.0 / 16.0;
    for host in ["n1", "n2", "n3", "n4"] {
        for (network, nics) in [("(a) switch", 1), ("(b) cables", 3), ("(c) delay off", 3)] {
            let sent = sent(&report, network, host);
            assert_eq!(sent.len(), nics);
            assert!(sent.iter().all(|bytes| *bytes > keys), "{network}, {host}: {sent:?}");
        }
        for network in ["(d) bonded", "(d) control", "(d') striped"] {
            let sent = sent(&report, network, host);
            assert_eq!(sent.len(), 6);
            for pair in sent.chunks(2) {
                assert!(pair.iter().sum::<f64>() > keys, "{network}, {host}: {sent:?}");
                // Bonding uses its NICs in turn. Striping weighs queues and not bytes, and with short queues
                // it prefers one cable for a while: that both are used is all that can be demanded (1 to 9
                // was observed), and ten full frames are more than a cable carries for other reasons.
                let used = pair.iter().all(|bytes| *bytes > 10.0 * 1514.0);
                let share = pair[0] / (pair[0] + pair[1]);
                let fair = network == "(d') striped" || (0.4..0.6).contains(&share);
                assert!(used && fair, "{network}, {host}: {sent:?}");
            }
        }
    }
    for name in ["cross-kernels.txt", "cross-kernels.json", "cross-IS-S.svg"] {
        assert!(folder.path().join(name).is_file(), "{name} was not written");
    }
}

/// Settings of a host's NICs: delay in ns and number of polls in vain of eth1, and whether the program that
/// spreads packets is attached to it; number of different addresses of its NICs; number of NICs.
fn settings(lab: &str) -> String {
    let script = "cd /sys/class/net && echo $(cat eth1/gro_flush_timeout eth1/napi_defer_hard_irqs) $(tc \
                  filter show dev eth1 egress | grep -c tasuki-stripe) $(cat eth*/address | sort -u | wc -l) \
                  $(ls -d eth* | wc -l)";
    let output = tasuki().args(["lab", "exec", "--lab", lab, "n1", "--", "sh", "-c", script]).output();
    String::from_utf8_lossy(&output.expect("starts").stdout).trim().to_owned()
}

#[test]
fn networks_are_set_up_as_they_are_called() {
    if skip_without_root("networks_are_set_up_as_they_are_called") {
        return;
    }
    let mut command = cross(&["--hosts", "2", "--delay", "70", "--repetitions", "100000"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let id = child.id();
    for (lab, expected) in [
        ("aswitch", "70000 1 0 1 1"),
        ("bcables", "70000 1 0 1 1"),
        ("cdelayoff", "0 0 0 1 1"),
        ("dbonded", "0 0 1 1 2"),
        ("dstriped", "0 0 1 2 2"),
        ("dcontrol", "0 0 1 1 2"),
    ] {
        // It builds programs first, then all labs.
        let name = format!("cross-{lab}-{id}");
        eventually(&name, || labs(id).contains(&name) && settings(&name) == expected);
    }
    // The programs run once the last network has carried more than greetings.
    eventually("programs run", || {
        let argv = ["lab", "exec", "--lab", &format!("cross-dcontrol-{id}"), "n1", "--", "cat"];
        let output = tasuki().args(argv).arg("/sys/class/net/eth2/statistics/tx_bytes").output();
        let sent = String::from_utf8_lossy(&output.expect("starts").stdout).trim().parse::<u64>();
        sent.is_ok_and(|bytes| bytes > 100_000)
    });
    kill(Pid::from_raw(id.cast_signed()), Signal::SIGINT).expect("it runs");
    let output = child.wait_with_output().expect("ends");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["interrupted"], true, "{}", text(&output));
    assert_eq!(labs(id), Vec::<String>::new());
}

#[test]
fn what_cannot_be_measured_is_said_at_once() {
    for (argv, said) in [
        (&["--hosts", "3"][..], "--hosts 3: 2, 4 or 8"),
        (&["--repetitions", "0"], "nothing would be measured"),
        (&["--bytes", "64"], "cannot be used with"),
        (&["--kernel", "himeno"], "HIMENO has none of the classes asked for, but X, S, M, L"),
    ] {
        let class = if said.contains("HIMENO") { "W" } else { "S" };
        let mut command = tasuki();
        command.args(["bench", "cross", "--kernel", "is", "--class", class]).args(argv);
        let output = command.output().expect("starts");
        assert!(!output.status.success() && text(&output).contains(said), "{argv:?}: {}", text(&output));
    }
}
