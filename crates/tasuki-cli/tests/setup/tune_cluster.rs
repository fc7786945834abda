//! `[tune]` in a cluster file: `apply` sets the receive-interrupt delay, `diff` and `status` show it, `undo`
//! restores it. On veth interfaces, whose delay is the kernel's own (NAPI).

use crate::support::{
    TestLab, ok, skip_without_root,
    state::{same_of_all, whole_of_all},
    tasuki, text,
};
use std::{fs, process::Output};

const TASUKI: &str = "/run/tasuki/bin/tasuki";
/// Turns GRO on, without which veth does not poll, and makes settings that an owner could have made.
const READY: &str = "for nic in eth1 eth2; do ethtool -K $nic gro on tso off gso off > /dev/null; done; \
    echo 7000 > /sys/class/net/eth1/gro_flush_timeout; echo 3 > /sys/class/net/eth1/napi_defer_hard_irqs";
/// A script that prints the kernel's settings, without Tasuki.
const SETTINGS: &str = "for nic in eth1 eth2; do cd /sys/class/net/$nic; echo $(cat gro_flush_timeout \
                        napi_defer_hard_irqs); done";

/// A lab of three hosts, each with two NICs, as `lab up` leaves it, and a folder for its cluster file.
struct Setting {
    lab: TestLab,
    folder: tempfile::TempDir,
    cluster: String,
}

impl Setting {
    fn up(stem: &str) -> Self {
        let lab = TestLab::up(stem, &["--shape", "full:3", "--offloads"]);
        for host in ["n1", "n2", "n3"] {
            lab.sh(host, READY);
        }
        let cluster = ok(tasuki().args(["cluster", "new", "full:3"]));
        Self { lab, folder: tempfile::tempdir().expect("a folder"), cluster }
    }

    /// Runs a command on the lab with a cluster file that has these lines before its hosts.
    fn run(&self, verb: &str, tune: &str, options: &[&str]) -> Output {
        let file = self.folder.path().join("cluster.toml");
        let text = self.cluster.replacen("[[host]]", &format!("{tune}\n[[host]]"), 1);
        fs::write(&file, text).expect("writes");
        let mut command = tasuki();
        command.arg(verb).arg(&file).args(["--lab", &self.lab.name, "--no-watch"]);
        command.args(options).output().expect("runs")
    }

    fn ok(&self, verb: &str, tune: &str) -> String {
        let output = self.run(verb, tune, &[]);
        assert!(output.status.success(), "{verb} {tune}: {}", text(&output));
        text(&output)
    }

    fn settings(&self, host: &str) -> String {
        self.lab.sh(host, SETTINGS).trim().replace('\n', ", ")
    }

    fn status(&self) -> (bool, serde_json::Value) {
        let output = tasuki().args(["status", "--lab", &self.lab.name, "--json"]).output().expect("runs");
        (output.status.success(), serde_json::from_slice(&output.stdout).expect("JSON"))
    }

    /// What the daemon of the first host says of itself.
    fn note(&self) -> serde_json::Value {
        serde_json::from_str(&self.lab.run("n1", &[TASUKI, "tune", "status", "--json"])).expect("JSON")
    }

    /// Ends that daemon, and waits until it has ended.
    fn end_tuner(&self, signal: &str) {
        let gone = format!("{TASUKI} tune status > /dev/null || exit 0; sleep 0.1");
        let pid = &self.note()["pid"];
        self.lab.sh("n1", &format!("kill -{signal} {pid}; for i in $(seq 600); do {gone}; done; exit 1"));
    }

    fn undo(&self) {
        ok(tasuki().args(["undo", "--lab", &self.lab.name]));
    }
}

#[test]
fn a_delay_of_the_file_is_set_shown_and_taken_back() {
    if skip_without_root("a_delay_of_the_file_is_set_shown_and_taken_back") {
        return;
    }
    let setting = Setting::up("tuned");
    let before = whole_of_all(&setting.lab);
    let fixed = "[tune]\ndelay = \"50us\"";
    let differs = setting.run("diff", fixed, &["--full"]);
    assert_eq!(differs.status.code(), Some(1), "{}", text(&differs));
    assert!(text(&differs).contains("gro_flush_timeout 50000 ns"), "{}", text(&differs));
    assert_eq!(setting.settings("n1"), "7000 3, 0 0", "a look changes nothing");
    setting.ok("apply", fixed);
    for host in ["n1", "n2", "n3"] {
        assert_eq!(setting.settings(host), "50000 1, 50000 1");
    }
    setting.ok("diff", fixed);
    assert!(setting.status().0);
    // The delay is changed by hand.
    setting.lab.sh("n2", "echo 9000 > /sys/class/net/eth2/gro_flush_timeout");
    let (is_well, status) = setting.status();
    assert!(!is_well, "{status}");
    assert_eq!(status[1]["status"]["drift"].as_array().map(Vec::len), Some(1), "{status}");
    assert_eq!(setting.run("diff", fixed, &[]).status.code(), Some(1));
    setting.ok("apply", fixed);
    assert_eq!(setting.settings("n2"), "50000 1, 50000 1");
    // A delay is set by hand on top of it, and undone.
    setting.lab.run("n1", &[TASUKI, "tune", "set", "eth1", "--delay", "1ms"]);
    assert_eq!(setting.settings("n1"), "1000000 1, 50000 1");
    setting.lab.run("n1", &[TASUKI, "tune", "undo"]);
    assert_eq!(setting.settings("n1"), "50000 1, 50000 1");
    // Then a file that has no delay any more, and one with a shorter delay.
    setting.ok("apply", "");
    assert_eq!(setting.settings("n1"), "7000 3, 0 0", "as its owner had it");
    setting.ok("apply", "[tune]\ndelay = \"off\"");
    assert_eq!(setting.settings("n1"), "0 0, 0 0");
    setting.lab.run("n1", &[TASUKI, "tune", "set", "eth1", "--delay", "20us"]);
    setting.undo();
    same_of_all("after undo", &before, &setting.lab);
    assert_eq!(setting.settings("n1"), "7000 3, 0 0");
}

#[test]
fn a_delay_that_one_host_cannot_have_changes_nothing_anywhere() {
    if skip_without_root("a_delay_that_one_host_cannot_have_changes_nothing_anywhere") {
        return;
    }
    let setting = Setting::up("untuned");
    let before = whole_of_all(&setting.lab);
    let refused = text(&setting.run("apply", "[tune]\ndelay = \"adaptive\"", &[]));
    assert!(refused.contains("eth1 cannot have the interrupt delay adaptive"), "{refused}");
    setting.lab.sh("n3", "ethtool -K eth2 gro off");
    let refused = text(&setting.run("apply", "[tune]\ndelay = \"50us\"", &[]));
    assert!(refused.contains("n3") && refused.contains("eth2") && refused.contains("gro on"), "{refused}");
    setting.lab.sh("n3", "ethtool -K eth2 gro on");
    same_of_all("after refusals", &before, &setting.lab);
}

#[test]
fn a_delay_follows_the_load_as_long_as_the_file_says_so() {
    if skip_without_root("a_delay_follows_the_load_as_long_as_the_file_says_so") {
        return;
    }
    let setting = Setting::up("following");
    let before = whole_of_all(&setting.lab);
    let dynamic = "[tune]\ndelay = \"dynamic\"\nleast = \"100us\"\nmost = \"1ms\"";
    setting.ok("apply", dynamic);
    let first = setting.note();
    assert_eq!(first["plan"]["nics"], serde_json::json!(["eth1", "eth2"]), "{first}");
    assert_eq!(setting.settings("n1"), "100000 1, 100000 1", "it begins with the shortest");
    let (is_well, status) = setting.status();
    assert!(is_well && status[0]["status"]["following"]["runs"] == true, "{status}");
    // Applying the same file again does not touch the daemon; one that was killed is missed, and started
    // again.
    setting.ok("apply", dynamic);
    assert_eq!(setting.note()["pid"], first["pid"]);
    setting.end_tuner("KILL");
    assert!(!setting.status().0);
    setting.ok("apply", dynamic);
    assert_ne!(setting.note()["pid"], first["pid"]);
    assert!(setting.status().0);
    // A file with another plan: the daemon ends, and restores its NICs before their delays are set.
    setting.ok("apply", "[tune]\ndelay = \"50us\"");
    assert_eq!(setting.settings("n1"), "50000 1, 50000 1");
    setting.lab.sh("n1", "! test -e /run/tasuki-tune.json && ! test -e /run/tasuki-tune-plan.json");
    setting.ok("apply", dynamic);
    setting.undo();
    same_of_all("after undo", &before, &setting.lab);
    assert_eq!(setting.settings("n1"), "7000 3, 0 0");
}

#[test]
fn the_unit_brings_a_delay_back_at_the_next_start() {
    if skip_without_root("the_unit_brings_a_delay_back_at_the_next_start") {
        return;
    }
    let setting = Setting::up("unittuned");
    let text =
        setting.cluster.replacen("[[host]]", "[tune]\ndelay = \"50us\"\n[[host]]\ndelay = \"dynamic\"", 1);
    let text = text.replacen("name = \"eth2\"", "name = \"eth2\", delay = \"80us\"", 1);
    setting.lab.sh("n1", &format!("cat > /run/cluster.toml <<'END'\n{text}END"));
    let argv = "apply /run/cluster.toml --host n1 --no-watch --persist --unit-dir /run/units";
    setting.lab.sh("n1", &format!("{TASUKI} {argv}"));
    setting.end_tuner("TERM");
    let command = |unit: &str| {
        let unit = setting.lab.sh("n1", &format!("cat /run/units/{unit}.service"));
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command").to_owned()
    };
    // After a restart of the machine the kernel's state is gone and files are still there, except those below
    // /run that are not the record's folder.
    let forget = "sed -i -E 's/\"boot\": \"[^\"]*\"/\"boot\": \"before\"/' /run/tasuki-state/changes.json \
    /run/tasuki-state/*/changes.json
        for nic in eth1 eth2; do echo 0 > /sys/class/net/$nic/napi_defer_hard_irqs; echo 0 > \
        /sys/class/net/$nic/gro_flush_timeout; done
        ip link del tasuki0; rm -f /run/tasuki-tune.json /run/tasuki-tune-plan.json";
    setting.lab.sh("n1", forget);
    setting.lab.sh("n1", &command("tasuki"));
    assert_eq!(setting.settings("n1"), "0 0, 80000 1", "the daemon has a unit of its own");
    let mut tuner = setting.lab.exec("n1", &["sh", "-c", &format!("exec {}", command("tasuki-tune"))]);
    let mut tuner = tuner.spawn().expect("starts");
    setting.lab.sh(
        "n1",
        &format!("for i in $(seq 600); do {TASUKI} tune status && exit 0; sleep 0.1; done; exit 1"),
    );
    let (_, status) = setting.status();
    assert_eq!(status[0]["status"]["following"]["runs"], true, "{status}");
    setting.lab.run("n1", &[TASUKI, "undo"]);
    tuner.wait().expect("ends");
    setting.lab.sh(
        "n1",
        "test ! -e /run/units/tasuki-tune.service && rm -r /run/units /run/cluster.toml && \
                          ! ls /run/tasuki-state 2> /dev/null",
    );
    assert_eq!(setting.settings("n1"), "0 0, 0 0", "as after the restart");
}
