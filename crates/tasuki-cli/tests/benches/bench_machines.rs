//! `tasuki bench` on the machines of a cluster file, over a real ssh: one of a lab's hosts runs the command,
//! the other runs sshd on the management network and on its cables.

use crate::support::{
    TestLab,
    machines::{CACHE, Machines, TASUKI},
    mpis::mpis,
    mpis::peers,
    mpis::sent,
    ok, skip_without_root, tasuki, text,
};
use std::{
    fs,
    process::{Command, Output},
};

/// The machines, with what is measured on them.
struct Cluster(Machines);

impl Cluster {
    fn up(test: &str) -> Option<Self> {
        Machines::up(test, "full:2", 2).map(Self)
    }

    fn tasuki(&self, argv: &[&str]) -> Command {
        self.0.tasuki(argv)
    }

    /// `tasuki bench` with these arguments on the cluster file.
    fn bench(&self, what: &str, argv: &[&str]) -> Command {
        self.tasuki(&[&["bench", what, "--cluster", "cluster.toml"], argv].concat())
    }

    /// `tasuki bench mpi` with one short repetition.
    fn mpi(&self, mpi: &str, argv: &[&str]) -> Command {
        let short = ["--repetitions", "1", "--seconds", "0.02", "--pair", "pingpong:8", "--all", "barrier"];
        self.bench("mpi", &[&["--mpi", mpi][..], &short, argv].concat())
    }
}

/// The records that a command printed as JSON.
fn records(output: &Output) -> Vec<serde_json::Value> {
    assert!(output.status.success(), "{}", text(output));
    serde_json::from_slice(&output.stdout).expect("an array of records")
}

/// Demands a refusal in which these words stand.
fn refused(output: &Output, words: &[&str]) {
    let said = text(output);
    assert!(!output.status.success(), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
}

#[test]
fn machines_are_measured_over_ssh_once_they_are_set_up() {
    let test = "machines_are_measured_over_ssh_once_they_are_set_up";
    if skip_without_root(test) {
        return;
    }
    let all = mpis(test);
    let Some(mpi) = all.first() else { return };
    let Some(cluster) = Cluster::up(test) else { return };
    let run = |command: &mut Command| command.output().expect("runs");

    // As `tasuki run` says it.
    let bare = "n1, n2 are not set up: `tasuki apply cluster.toml`";
    refused(&run(&mut cluster.mpi(mpi.name, &[])), &[bare, "(or --transport tcp)"]);
    let raw = run(&mut cluster.bench("raw", &[]));
    refused(&raw, &[bare]);
    assert!(!text(&raw).contains("--transport"), "there is no such option: {}", text(&raw));

    ok(&mut cluster.tasuki(&["apply", "cluster.toml", "--no-watch", "--remote", TASUKI]));
    let before = sent(&cluster.0.lab);
    let output = run(&mut cluster.mpi(mpi.name, &["--json"]));
    let records = records(&output);
    // Each pair of tests over TCP and over Tasuki, and the raw limits of the cable.
    for test in ["pingpong", "barrier"] {
        for lane in ["tcp", "tasuki"] {
            let is_it = |record: &&serde_json::Value| record["test"] == test && record["lane"] == lane;
            let found = records.iter().find(is_it);
            let record = found.unwrap_or_else(|| panic!("no {test} over {lane}: {}", text(&output)));
            assert_eq!((&record["ranks"], &record["offloads"]), (&2.into(), &"own".into()), "{record:#}");
        }
    }
    assert!(records.iter().any(|record| record["test"] == "raw-pingpong"), "{records:#?}");
    assert!(sent(&cluster.0.lab) > before, "the cable carried it");
    assert!(text(&output).contains("was copied to n2"), "{}", text(&output));

    // It is there now.
    let again = run(&mut cluster.mpi(mpi.name, &["--transport", "tcp"]));
    assert!(again.status.success() && !text(&again).contains("copied"), "{}", text(&again));

    let raw = run(&mut cluster.bench("raw", &["--seconds", "0.05", "--json"]));
    assert!(raw.status.success(), "{}", text(&raw));
    assert!(text(&raw).contains("packet-ring"), "root may send frames: {}", text(&raw));

    // The second host has no provider at the path of the first one's.
    cluster
        .0
        .lab
        .sh("n1", &format!("mkdir /run/p && cp {}/provider/* /run/p", cluster.0.sshd.path().display()));
    let mut lacking = cluster.mpi(mpi.name, &["--transport", "tasuki"]);
    let lacking = run(lacking.env("TASUKI_PROVIDER", "/run/p"));
    refused(&lacking, &["n2 lacks /run/p/libtasuki-fi.so", "install the same package of tasuki there"]);

    // A program cannot be put where a file stands for its folder.
    cluster.0.lab.sh("n2", &format!("rm -r {CACHE} && touch {CACHE}"));
    let no_folder = run(&mut cluster.mpi(mpi.name, &["--transport", "tcp"]));
    refused(&no_folder, &["n2: cannot put /run/bench-cache/tasuki/mpi-bench/", "XDG_CACHE_HOME"]);

    cluster
        .0
        .lab
        .sh("n2", "for p in /proc/[0-9]*; do [ \"$(cat $p/comm)\" != sshd ] || kill ${p#/proc/}; done");
    let silent = run(&mut cluster.mpi(mpi.name, &["--transport", "tcp"]));
    refused(&silent, &["n2: it does not answer", "198.18.0.2"]);
}

#[test]
fn what_needs_a_lab_says_so() {
    let bench = |argv: &[&str]| tasuki().arg("bench").args(argv).output().expect("runs");
    refused(&bench(&["startup", "--cluster", "c.toml"]), &["in labs only", "one clock"]);
    refused(
        &bench(&["mpi", "--cluster", "c.toml", "--as-user"]),
        &["--as-user", "brokers on the hosts of labs"],
    );
    refused(
        &bench(&["nas", "--cluster", "c.toml", "--kernel", "linpack"]),
        &["in labs", "tasuki run -n RANKS"],
    );
    for what in ["stripe", "cross", "tune"] {
        refused(&bench(&[what, "--cluster", "c.toml"]), &["labs of its own", "bench mpi --cluster"]);
    }
    for option in [&["--shape", "full:2"][..], &["--lab", "l"], &["--unshaped"], &["--rate", "1G"]] {
        let argv = [&["mpi", "--cluster", "c.toml"], option].concat();
        refused(&bench(&argv), &["--cluster <FILE>", "cannot be used with", option[0]]);
    }
}

#[test]
fn a_lab_is_measured_that_is_up_or_that_is_built_of_a_file() {
    let test = "a_lab_is_measured_that_is_up_or_that_is_built_of_a_file";
    if skip_without_root(test) {
        return;
    }
    let all = mpis(test);
    let Some(mpi) = all.first() else { return };
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let file = folder.path().join("cluster.toml");
    fs::write(&file, ok(tasuki().args(["cluster", "new", "full:2"]))).expect("writes");
    let lab = TestLab::up("up", &["--shape", "ring:3"]);
    for (source, ranks) in [(["--lab", &lab.name], 3), (["--lab-of", &file.display().to_string()], 2)] {
        let mut command = tasuki();
        command.args([
            "bench",
            "mpi",
            "--mpi",
            mpi.name,
            "--repetitions",
            "1",
            "--seconds",
            "0.02",
            "--json",
        ]);
        command.args(["--pair", "pingpong:8", "--all", "barrier"]).args(source);
        let output = command.env("TASUKI_PEERS", peers()).output().expect("runs");
        let records = records(&output);
        let barriers = records.iter().filter(|record| record["test"] == "barrier");
        let lanes: Vec<_> =
            barriers.map(|record| (record["lane"].clone(), record["ranks"].clone())).collect();
        assert_eq!(lanes.len(), 2, "{source:?}: {records:#?}");
        assert!(lanes.iter().all(|(_, of)| *of == ranks), "{source:?}: {lanes:?}");
    }
}
