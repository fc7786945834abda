//! `authenticate = true`: a job whose packets carry keyed tags, while somebody who owns the cable reads along
//! and injects packets; and jobs that a cluster with this setting refuses.

mod support;

use std::{fs, path::PathBuf, process::Command};
use support::{
    TestLab, background,
    dump::Rank,
    eventually,
    lanes::{UNTIL_ENDED, end, lane, not_ended, told, until},
    mpi::{Programs, families},
    mpis::Mpi,
    ok,
    run::{MpiRun, Running},
    skip_without_root, tasuki, unique,
};

/// The script is given to Python as text, as other scripts of these tests are.
const CABLE: &str = include_str!("support/cable.py");

/// Forged packets that must have arrived before they count as harmless.
const FORGED: u64 = 300;

/// A cluster file of two hosts with one cable, with these lines in front.
fn cluster_file(lines: &str) -> PathBuf {
    let shape = ok(tasuki().args(["cluster", "new", "pair:1"]));
    let path = std::env::temp_dir().join(unique("authenticate")).with_extension("toml");
    fs::write(&path, format!("{shape}\n{lines}")).expect("writes");
    path
}

fn lab(lines: &str) -> TestLab {
    let path = cluster_file(lines);
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
fn owner_of_the_cable(job: &Running) -> support::Background {
    let ranks = job.ranks();
    let pid = |number| {
        let is = |rank: &&Rank| rank.rank == number;
        ranks.iter().find(is).expect("a rank").pid.to_string()
    };
    background(Command::new("python3").args(["-c", CABLE, &pid(0), &pid(1)]))
}

#[test]
fn who_owns_the_cable_cannot_disturb_a_job_with_a_key() {
    let test = "who_owns_the_cable_cannot_disturb_a_job_with_a_key";
    if skip_without_root(test) {
        return;
    }
    let lab = lab("[security]\nauthenticate = true\n");
    let programs = Programs::new();
    for mpi in families(test) {
        for lanes in ["raw,udp", "udp"] {
            let mut job = collect(&lab, &mpi, &programs, lanes);
            let _owner = owner_of_the_cable(&job);
            let dropped = |told: &support::lanes::Told| told.drops.get("tag").copied().unwrap_or(0);
            let last = until("forged packets", &lab, &mut job, |told| dropped(told) >= FORGED);
            assert!(last.lanes.values().any(|lane| lane.up), "{}, {lanes}: {last:?}", mpi.name);
            eprintln!("{}, {lanes}: {:?}", mpi.name, last.drops);
            end(&lab, job, mpi.name);
        }
    }
}

/// Without a key a job loses its rail to the owner of the cable.
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
    let lab = lab("[security]\nauthenticate = true\n");
    let programs = Programs::new();
    let Some(mpi) = families(test).into_iter().next() else { return };
    let program = programs.build("collect", &mpi);
    let over_tcp = MpiRun::new(&lab, &mpi, "tcp", 2, &program).args(["1"]).finish().report();
    assert!(over_tcp.contains("messages over TCP are not authenticated"), "{over_tcp}");
    let wrong = MpiRun::new(&lab, &mpi, "tasuki", 2, &program).args(["1"]).env("TASUKI_JOB_KEY", "abc");
    let report = wrong.finish().report();
    assert!(report.contains("TASUKI_JOB_KEY=...: must be 32 hexadecimal digits"), "{report}");
}
