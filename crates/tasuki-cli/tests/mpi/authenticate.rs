//! `authenticate = true`: a job whose packets carry keyed tags, while somebody who owns the cable reads along
//! and injects packets; and jobs that a cluster with this setting refuses.

use crate::support::{
    TestLab, background,
    dump::Rank,
    eventually,
    lanes::{UNTIL_ENDED, end, lane, not_ended, told, until},
    mpi::{Programs, families},
    mpis::{Mpi, peers},
    ok,
    run::{MpiRun, Running},
    skip_without_root, tasuki, text, unique,
};
use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
};

/// The script is given to Python as text, as other scripts of these tests are.
const CABLE: &str = include_str!("../support/cable.py");

/// What a cluster file says whose jobs authenticate their packets.
const AUTHENTICATE: &str = "[security]\nauthenticate = true\n";

/// Forged packets that must have arrived before they count as harmless.
const FORGED: u64 = 300;

/// A cluster file of this shape, with these lines behind it.
fn cluster_file(shape: &str, lines: &str) -> PathBuf {
    let shape = ok(tasuki().args(["cluster", "new", shape]));
    let path = std::env::temp_dir().join(unique("authenticate")).with_extension("toml");
    fs::write(&path, format!("{shape}\n{lines}")).expect("writes");
    path
}

/// Two hosts with one cable.
fn lab(lines: &str) -> TestLab {
    lab_of("pair:1", lines)
}

fn lab_of(shape: &str, lines: &str) -> TestLab {
    let path = cluster_file(shape, lines);
    let lab = TestLab::up("auth", &[path.to_str().expect("UTF-8")]);
    fs::remove_file(path).expect("removes");
    lab
}

fn collect(lab: &TestLab, mpi: &Mpi, programs: &Programs, lanes: &str) -> Running {
    not_ended(lab);
    let program = programs.build("collect", mpi);
    let run = MpiRun::new(lab, mpi, "tasuki", 2, &program).args(UNTIL_ENDED);
    let mut job = run.env("TASUKI_LANES", lanes).limit(300).start();
    until("messages", lab, &mut job, |told| told.lanes.values().any(|lane| lane.received > 100));
    job
}

/// The owner of the cable, who is at work until this is dropped.
fn owner_of_the_cable(job: &Running) -> crate::support::Background {
    let ranks = job.ranks();
    let pid = |number| {
        let is = |rank: &&Rank| rank.rank == number;
        ranks.iter().find(is).expect("a rank").pid.to_string()
    };
    background(Command::new("python3").args(["-c", CABLE, "owner", &pid(0), &pid(1)]))
}

/// Jobs of all MPIs on this lab end right beside somebody whom `disturb` sets to work, and whose packets are
/// dropped for their tags.
fn ends_right_beside<T>(test: &str, lab: &TestLab, disturb: impl Fn(&Running) -> T) {
    let programs = Programs::new();
    for mpi in families(test) {
        for lanes in ["raw,udp", "udp"] {
            let mut job = collect(lab, &mpi, &programs, lanes);
            let _stranger = disturb(&job);
            let dropped = |told: &crate::support::lanes::Told| told.drops.get("tag").copied().unwrap_or(0);
            let last = until("forged packets", lab, &mut job, |told| dropped(told) >= FORGED);
            assert!(last.lanes.values().any(|lane| lane.up), "{}, {lanes}: {last:?}", mpi.name);
            eprintln!("{}, {lanes}: {:?}", mpi.name, last.drops);
            end(lab, job, mpi.name);
        }
    }
}

#[test]
fn who_owns_the_cable_cannot_disturb_a_job_with_a_key() {
    let test = "who_owns_the_cable_cannot_disturb_a_job_with_a_key";
    if skip_without_root(test) {
        return;
    }
    ends_right_beside(test, &lab(AUTHENTICATE), owner_of_the_cable);
}

/// Somebody on a third host of the same switch, who is at work until this is dropped: one process records
/// what arrives at n1, another one puts it and what it makes of it on the wire of n3.
fn third_host(lab: &TestLab) -> [crate::support::Background; 2] {
    let mut records = background(&mut lab.exec("n1", &["python3", "-c", CABLE, "record", "eth1"]));
    let mut injects = lab.exec("n3", &["python3", "-c", CABLE, "inject", "eth1"]);
    injects.stdin(records.0.stdout.take().expect("piped")).stdout(Stdio::null()).stderr(Stdio::piped());
    [records, crate::support::Background(injects.spawn().expect("starts"))]
}

#[test]
fn a_third_host_cannot_disturb_a_job_with_a_key() {
    let test = "a_third_host_cannot_disturb_a_job_with_a_key";
    if skip_without_root(test) {
        return;
    }
    let lab = lab_of("star:3", AUTHENTICATE);
    ends_right_beside(test, &lab, |_| third_host(&lab));
}

/// What `tasuki run --dry-run` and `tasuki env` print holds no key, and starts a job that is authenticated;
/// the same without a key does not start, and says what to do.
#[test]
fn a_plain_launcher_needs_a_key_and_none_is_printed() {
    let test = "a_plain_launcher_needs_a_key_and_none_is_printed";
    if skip_without_root(test) {
        return;
    }
    let lab = lab(AUTHENTICATE);
    let programs = Programs::new();
    for mpi in families(test) {
        let program = programs.build("collect", &mpi);
        // A run makes the program visible in all hosts.
        MpiRun::new(&lab, &mpi, "tasuki", 2, &program).args(["1"]).ok();
        let command = |argv: &[&str]| {
            let mut command = tasuki();
            command.env("TASUKI_PEERS", peers()).args(argv).args(["--lab", &lab.name, "--mpi", mpi.name]);
            command
        };
        let run = ["run", "--transport", "tasuki", "-n", "2", "--dry-run"];
        let line = ok(command(&run).arg(&program).arg("1"));
        let settings = ok(&mut command(&["env", "--transport", "tasuki"]));
        let json = ok(&mut command(&["env", "--transport", "tasuki", "--json"]));
        for said in [&line, &settings, &json] {
            assert!(said.contains("TASUKI_JOB_KEY"), "{said}");
            let words = said.split(|c: char| !c.is_ascii_hexdigit());
            assert_eq!(words.filter(|word| word.len() == 32).count(), 0, "a key is shown: {said}");
        }
        let by_hand = |script: &str| {
            let mut command = tasuki();
            command.args(["lab", "exec", "--lab", &lab.name, "--job", "n1", "--", "sh", "-c", script]);
            MpiRun::of(command, &lab, format!("{}: {script}", mpi.name))
        };
        assert!(by_hand(&format!("env {line}")).ok().contains("collect ok"), "{line}");
        let (before, after) = line.split_once("TASUKI_JOB_KEY=").expect("the key's variable");
        let (_, after) = after.split_once(")\"").expect("the end of what draws a key");
        let report = by_hand(&format!("env {before} {after}")).finish().report();
        for part in ["authenticate = true", "tasuki run", "TASUKI_JOB_KEY"] {
            assert!(report.contains(part), "{part:?} is missing: {report}");
        }
        assert!(!report.contains("collect ok"), "{report}");
    }
    let said = text(
        &tasuki()
            .args(["env", "--lab", &lab.name, "--mpi", "openmpi-4.1", "--transport", "tcp"])
            .output()
            .expect("runs"),
    );
    assert!(said.contains("messages over TCP are not authenticated"), "{said}");
}

/// From a job without a key, the owner of a cable takes its rail.
#[test]
fn who_owns_the_cable_disturbs_a_job_without_a_key() {
    let test = "who_owns_the_cable_disturbs_a_job_without_a_key";
    if skip_without_root(test) {
        return;
    }
    let lab = lab("");
    let programs = Programs::new();
    let Some(mpi) = families(test).into_iter().next() else { return };
    let job = collect(&lab, &mpi, &programs, "udp");
    let _owner = owner_of_the_cable(&job);
    eventually("the rail is lost", || !lane(&told(&lab, "n1"), "udp").up);
    drop(job);
}

/// Jobs that are not authenticated are refused by a cluster whose file asks for it: over TCP, and with
/// something that is no key.
#[test]
fn a_cluster_that_authenticates_refuses_jobs_that_do_not() {
    let test = "a_cluster_that_authenticates_refuses_jobs_that_do_not";
    if skip_without_root(test) {
        return;
    }
    let lab = lab(AUTHENTICATE);
    let programs = Programs::new();
    let Some(mpi) = families(test).into_iter().next() else { return };
    let program = programs.build("collect", &mpi);
    let over_tcp = MpiRun::new(&lab, &mpi, "tcp", 2, &program).args(["1"]).finish().report();
    assert!(over_tcp.contains("messages over TCP are not authenticated"), "{over_tcp}");
    let wrong = MpiRun::new(&lab, &mpi, "tasuki", 2, &program).args(["1"]).env("TASUKI_JOB_KEY", "abc");
    let report = wrong.finish().report();
    assert!(report.contains("TASUKI_JOB_KEY=...: must be 32 hexadecimal digits"), "{report}");
}
