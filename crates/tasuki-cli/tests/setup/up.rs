//! `tasuki up` and `tasuki down` on four bare hosts that are reached by a real sshd, and on a bare lab.

use crate::support::{
    TestLab, background, eventually, mpis::mpis, mpis::sent, ok, skip_without_root, ssh::Ssh, state, tasuki,
    text,
};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Command, Output},
};

/// The program as it was built: hosts of a lab see this machine's files.
const TASUKI: &str = env!("CARGO_BIN_EXE_tasuki");
/// A folder that every host of a lab has for itself.
const PREFIX: &str = "/run/opt/tasuki";
const INSTALLED: &str = "/run/opt/tasuki/bin/tasuki";
/// A folder that every host has for itself.
const CACHE: &str = "/run/bench-cache";
const TARGETS: [&str; 4] = ["root@198.18.0.1", "root@198.18.0.2", "root@198.18.0.3", "root@198.18.0.4"];
/// Whether a host is set up, at least in part.
const IS_SET: &str = "test -e /run/tasuki-state/changes.json";

struct Hosts {
    lab: TestLab,
    sshd: Ssh,
    before: Vec<String>,
}

impl Hosts {
    /// Four hosts as they are when they were just installed. `None`, after a note, if there is no sshd.
    fn up(test: &str) -> Option<Self> {
        let sshd = Ssh::prepare(test)?;
        let folder = sshd.path();
        // Launchers of MPIs run plain ssh. On a user's machine ~/.ssh/config has what this file has.
        fs::create_dir(folder.join("bin")).expect("makes");
        let script = format!("#!/bin/sh\nexec /usr/bin/ssh -F {}/ssh_config \"$@\"\n", folder.display());
        fs::write(folder.join("bin/ssh"), script).expect("writes");
        fs::set_permissions(folder.join("bin/ssh"), fs::Permissions::from_mode(0o755)).expect("sets");
        let lab = TestLab::up("ups", &["--shape", "full:4", "--bare"]);
        ["n1", "n2", "n3", "n4"].iter().for_each(|host| sshd.serve(&lab, host));
        let before = state::whole_of_all(&lab);
        Some(Self { lab, sshd, before })
    }

    /// `tasuki` on the first host, in a folder of the test's own.
    fn tasuki(&self, argv: &[&str]) -> Command {
        self.sshd.command(&self.lab, "n1", &[&[TASUKI], argv].concat(), CACHE)
    }

    fn try_up(&self, argv: &[&str]) -> Command {
        self.tasuki(&[&["up", "--prefix", PREFIX], &TARGETS[..], argv].concat())
    }

    fn run(&self, argv: &[&str]) -> Output {
        self.try_up(argv).output().expect("runs")
    }

    /// Sends the `up` that runs on the first host a signal.
    fn signal(&self, signal: &str) {
        let script = format!(
            "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q '^{TASUKI} up ' && \
             kill -{signal} ${{p#/proc/}}; done; true"
        );
        self.lab.sh("n1", &script);
    }

    fn is_set(&self, host: &str) -> bool {
        self.lab.exec(host, &["sh", "-c", IS_SET]).status().expect("runs").success()
    }

    /// Takes all away, and demands that every host is as it was.
    fn down_and_same(&self, what: &str) {
        let argv = ["down", "cluster.toml", "--remote", INSTALLED, "--remove", "--prefix", PREFIX];
        ok(&mut self.tasuki(&argv));
        // Where the command was typed, its measuring program is kept to be used again.
        self.lab.sh("n1", &format!("rm -rf {CACHE}"));
        state::same_of_all(what, &self.before, &self.lab);
    }
}

/// Demands a failure with this exit code in which these words stand.
fn failed(output: &Output, code: i32, words: &[&str]) {
    let said = text(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    words.iter().for_each(|word| assert!(said.contains(word), "{word:?} is not in: {said}"));
}

#[test]
fn four_bare_hosts_run_an_mpi_over_all_cables_and_are_as_before_after_down() {
    let test = "four_bare_hosts_run_an_mpi_over_all_cables_and_are_as_before_after_down";
    if skip_without_root(test) {
        return;
    }
    if mpis(test).is_empty() {
        return;
    }
    let Some(hosts) = Hosts::up(test) else { return };
    let carried = sent(&hosts.lab);
    let output = hosts.run(&["--yes"]);
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    for word in ["installed", "Cabling of discovered: 6 cables", "Written to cluster.toml", "Ready after"] {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
    // A busy machine does not come to the last of these in the demonstration's time, and says so.
    let is_cut = said.contains("not all was measured in the 20 s");
    for (word, may_lack) in
        [("latency, 8 bytes", false), ("bandwidth, 64 KiB", false), ("barrier of 4 hosts", is_cut)]
    {
        assert!(said.contains(word) || may_lack, "{word:?} is not in: {said}");
    }
    assert!(sent(&hosts.lab) > carried + 1_000_000, "the cables carried it");
    eprintln!("{}", said.lines().find(|line| line.starts_with("Ready after")).unwrap_or_default());
    // Only where the command was typed is the measuring program kept.
    hosts.lab.run("n2", &["test", "!", "-e", CACHE]);

    // All of it again: nothing to install, the file is used as it is, nothing to change, so nothing is asked.
    let again = hosts.run(&["--no-demo"]);
    let said = text(&again);
    assert!(again.status.success(), "{said}");
    for word in ["had it", "cluster.toml has the same cables", "nothing to do", "Ready after"] {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
    hosts.down_and_same("after down");
    // Twice does no harm. Without tasuki on the hosts it cannot be asked.
    let twice = hosts.tasuki(&["down", "cluster.toml", "--remote", INSTALLED]).output().expect("runs");
    failed(&twice, 1, &["n2: it has no tasuki"]);
}

#[test]
fn what_was_done_is_taken_back_unless_it_ends_well() {
    let test = "what_was_done_is_taken_back_unless_it_ends_well";
    if skip_without_root(test) {
        return;
    }
    let Some(hosts) = Hosts::up(test) else { return };

    // Nobody can be asked.
    failed(&hosts.run(&[]), 3, &["standard input is no terminal; --yes answers", "nothing was set up"]);
    assert!(!hosts.is_set("n2"));
    // A file of other cables is not written over.
    let file = hosts.sshd.path().join("cluster.toml");
    let found = fs::read_to_string(&file).expect("it was written");
    fs::write(&file, ok(tasuki().args(["cluster", "new", "ring:4"]))).expect("writes");
    failed(
        &hosts.run(&["--yes"]),
        1,
        &["describes other cables", "--force writes over it", "nothing was set up"],
    );
    fs::write(&file, found).expect("writes");

    // The check finds a cable that loses frames.
    hosts.lab.fault("loss", &["n1-n2", "30%"]);
    failed(&hosts.run(&["--yes"]), 1, &["the check has found faults", "taking back", "restored"]);
    assert!(["n1", "n2", "n3", "n4"].iter().all(|host| !hosts.is_set(host)));
    hosts.lab.fault("heal", &["n1-n2"]);

    // Ctrl-C while hosts are set up.
    let mut cut = background(&mut hosts.try_up(&["--yes"]));
    eventually("a host is set up", || hosts.is_set("n2"));
    hosts.signal("INT");
    assert_eq!(cut.0.wait().expect("waits").code(), Some(130));
    assert!(["n1", "n2", "n3", "n4"].iter().all(|host| !hosts.is_set(host)));

    // Killed: `down` restores.
    let mut cut = background(&mut hosts.try_up(&["--yes"]));
    eventually("a host is set up", || hosts.is_set("n3"));
    hosts.signal("KILL");
    cut.0.wait().expect("waits");
    hosts.down_and_same("killed, and down");
}

#[test]
fn the_first_error_names_the_host_and_nothing_is_set_up() {
    let test = "the_first_error_names_the_host_and_nothing_is_set_up";
    if skip_without_root(test) {
        return;
    }
    let Some(hosts) = Hosts::up(test) else { return };
    let up = |targets: &[&str]| {
        hosts.tasuki(&[&["up", "--yes", "--prefix", PREFIX], targets].concat()).output().expect("runs")
    };
    // A name that is mistyped.
    failed(
        &up(&[TARGETS[1], "root@n33.invalid"]),
        1,
        &[
            "root@n33.invalid: it does not answer",
            "Tasuki cannot be used on root@n33.invalid; nothing was set up",
        ],
    );
    // A host whose cables were pulled.
    hosts.lab.fault("cut", &["n4"]);
    failed(&up(&TARGETS[1..]), 1, &["n4 is not in the file: no cable joins it", "nothing was set up"]);
    // A host named twice.
    failed(&up(&[TARGETS[1], "198.18.0.2"]), 2, &["198.18.0.2", "it is named twice"]);
    assert!(!hosts.is_set("n2") && !hosts.is_set("n3"));
}

#[test]
fn a_bare_lab_is_set_up_without_ssh() {
    if skip_without_root("a_bare_lab_is_set_up_without_ssh") {
        return;
    }
    let lab = TestLab::up("uplab", &["--shape", "planes:3x2", "--bare"]);
    let before = state::whole_of_all(&lab);
    let folder = tempfile::tempdir().expect("a folder");
    // Nobody reads what is done: a full disk (full(4)), in the place of a reader that has gone.
    let full = fs::File::options().write(true).open("/dev/full").expect("opens");
    let mut unheard = tasuki();
    unheard.args(["up", "--lab", &lab.name, "--yes", "--no-demo"]).current_dir(folder.path()).stdout(full);
    failed(
        &unheard.output().expect("runs"),
        1,
        &["cannot write to standard output: No space left on device"],
    );
    state::same_of_all("unheard", &before, &lab);
    let mut up = tasuki();
    up.args(["up", "--lab", &lab.name, "--yes", "--no-demo", "--json"]).current_dir(folder.path());
    let printed: serde_json::Value = serde_json::from_str(&ok(&mut up)).expect("JSON");
    assert_eq!((&printed["ready"], printed["changed"].as_array().map(Vec::len)), (&true.into(), Some(3)));
    assert!(folder.path().join("cluster.toml").is_file());
    ok(tasuki().args(["down", "--lab", &lab.name]));
    state::same_of_all("after down", &before, &lab);
}
