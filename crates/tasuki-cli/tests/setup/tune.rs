//! `tasuki tune` on veth interfaces, whose delay is the kernel's own (NAPI): set, read back from sysfs,
//! undone, also after a crash.

use crate::support::{TestLab, skip_without_root, text};
use std::process::{Output, Stdio};

const TASUKI: &str = "/run/tasuki/bin/tasuki";
/// A script that prints the kernel's settings, without Tasuki.
const SETTINGS: &str =
    "cat /sys/class/net/eth1/gro_flush_timeout /sys/class/net/eth1/napi_defer_hard_irqs | tr '\\n' ' '";

fn tune(lab: &TestLab, argv: &str) -> Output {
    let argv: Vec<_> = [TASUKI, "tune"].into_iter().chain(argv.split_whitespace()).collect();
    lab.exec("n1", &argv).output().expect("runs")
}

fn ok(lab: &TestLab, argv: &str) -> String {
    let output = tune(lab, argv);
    assert!(output.status.success(), "tune {argv}: {}", text(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn settings(lab: &TestLab) -> String {
    lab.sh("n1", SETTINGS).trim().to_owned()
}

#[test]
fn the_delay_is_set_and_undone_and_what_offers_none_is_refused() {
    if skip_without_root("the_delay_is_set_and_undone_and_what_offers_none_is_refused") {
        return;
    }
    let lab = TestLab::up("tune", &["--shape", "full:2"]);
    let output = tune(&lab, "set eth1 --delay 50us");
    let said = text(&output);
    assert!(
        !output.status.success()
            && said.contains("gro on")
            && said.contains("no interrupt delay for ethtool"),
        "{said}"
    );
    assert!(!tune(&lab, "set eth9 --delay 50us").status.success());
    assert_eq!(settings(&lab), "0 0", "a refusal changes nothing");
    lab.sh("n1", "! test -e /run/tasuki-state/tune");

    lab.sh(
        "n1",
        "ethtool -K eth1 gro on tso off gso off >/dev/null; echo 7000 > \
                  /sys/class/net/eth1/gro_flush_timeout; echo 3 > /sys/class/net/eth1/napi_defer_hard_irqs",
    );
    ok(&lab, "set eth1 --delay 50us --dry-run");
    assert_eq!(settings(&lab), "7000 3");
    // If no NIC is named, those of the rails are meant.
    let said = text(&tune(&lab, "set --delay 50us"));
    assert!(said.contains("by napi (not by ethtool: the driver (veth)"), "{said}");
    assert_eq!(settings(&lab), "50000 1");
    ok(&lab, "set eth1 --delay 1ms");
    assert_eq!(settings(&lab), "1000000 1");
    let shown: serde_json::Value = serde_json::from_str(&ok(&lab, "show eth1 --json")).expect("JSON");
    assert_eq!(shown[0]["means"][1]["delay"]["fixed"], 1000, "{shown}");
    let refused = text(&tune(&lab, "set eth1 --delay adaptive"));
    assert!(refused.contains("does not adapt"), "{refused}");
    ok(&lab, "set eth1 --delay off");
    assert_eq!(settings(&lab), "0 0");
    ok(&lab, "undo");
    assert_eq!(settings(&lab), "7000 3", "as its owner had it");
    // `tasuki undo` restores both.
    ok(&lab, "set eth1 --delay 20us");
    lab.run("n1", &[TASUKI, "undo"]);
    assert_eq!(settings(&lab), "7000 3");
}

#[test]
fn a_running_tuner_gives_back_what_it_took_also_when_it_is_killed() {
    if skip_without_root("a_running_tuner_gives_back_what_it_took_also_when_it_is_killed") {
        return;
    }
    let lab = TestLab::up("tuner", &["--shape", "full:2"]);
    lab.sh(
        "n1",
        "ethtool -K eth1 gro on tso off gso off >/dev/null; echo 7000 > \
                  /sys/class/net/eth1/gro_flush_timeout; echo 3 > /sys/class/net/eth1/napi_defer_hard_irqs",
    );
    let argv = "tune run eth1 --least 100us --most 1ms --period 50 --log /run/tune.jsonl";
    let argv: Vec<_> = [TASUKI].into_iter().chain(argv.split_whitespace()).collect();
    for (end, left) in [("kill -TERM", "7000 3"), ("kill -KILL", "100000 1")] {
        lab.sh("n1", "rm -f /run/tune.jsonl");
        let mut tuner = lab.exec("n1", &argv).stdin(Stdio::null()).spawn().expect("starts");
        lab.sh("n1", "for i in $(seq 1200); do test -s /run/tune.jsonl && exit 0; sleep 0.1; done; exit 1");
        assert_eq!(settings(&lab), "100000 1", "it begins with the shortest");
        let note: serde_json::Value = serde_json::from_str(&ok(&lab, "status --json")).expect("JSON");
        assert_eq!(note["nics"][0]["means"], "napi", "{note}");
        let refused = text(&tune(&lab, "set eth1 --delay off"));
        assert!(refused.contains("tune run"), "{refused}");
        let line = lab.sh("n1", "head -n 1 /run/tune.jsonl");
        let line: serde_json::Value = serde_json::from_str(line.trim()).expect("JSON");
        assert!(line["interrupts"].is_number() && line["busy"].is_number() && line["us"] == 100, "{line}");
        lab.sh("n1", &format!("{end} {}", note["pid"]));
        tuner.wait().expect("ends");
        assert_eq!(settings(&lab), left, "after {end}");
    }
    ok(&lab, "undo");
    assert_eq!(settings(&lab), "7000 3");
    lab.sh("n1", "! test -e /run/tasuki-state/tune && ! test -e /run/tasuki-tune.json");
}
