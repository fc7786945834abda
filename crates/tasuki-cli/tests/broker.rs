//! Ordinary users' MPI programs and the broker: members of its group get raw lanes, everybody else UDP, and whatever becomes of the broker no
//! program waits or fails.

mod support;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{path::Path, process::Command};
use support::{
    Background, TestLab, background, eventually,
    lanes::{lane, until},
    mpi::{Programs, families},
    mpis::Mpi,
    ok,
    run::{MpiRun, Running},
    skip_without_root, tasuki,
};

const TASUKI: &str = "/run/tasuki/bin/tasuki";
/// Every host of a lab has a `/run` of its own; `/run/tasuki` is the same for all.
const SOCKET: &str = "/run/broker.sock";
const GROUP: &str = "4100";
/// Ordinary users, as setpriv(1) makes them.
const MEMBER: [&str; 7] = [
    "setpriv",
    "--reuid=4201",
    "--regid=4201",
    "--groups=4300,4100",
    "--inh-caps=-all",
    "--bounding-set=-all",
    "--no-new-privs",
];
const STRANGER: [&str; 7] = [
    "setpriv",
    "--reuid=4203",
    "--regid=4203",
    "--groups=4300",
    "--inh-caps=-all",
    "--bounding-set=-all",
    "--no-new-privs",
];

/// The MPIs whose launcher, as root, lets ranks be other users: the daemons of Open MPI 4 demand their own.
fn launchable(test: &str) -> Vec<Mpi> {
    families(test).into_iter().filter(|mpi| mpi.name != "openmpi-4.1").collect()
}

/// A broker on every host of the lab.
fn brokers(lab: &TestLab) -> [Background; 2] {
    ["n1", "n2"].map(|host| {
        let broker =
            background(&mut lab.exec(host, &[TASUKI, "broker", "--socket", SOCKET, "--group", GROUP]));
        eventually("the broker listens", || {
            lab.exec(host, &["test", "-S", SOCKET]).status().is_ok_and(|status| status.success())
        });
        broker
    })
}

fn start(lab: &TestLab, mpi: &Mpi, program: &Path, user: &[&str], rounds: &str) -> Running {
    let mut command = tasuki();
    command.args(["run", "--lab", &lab.name, "--mpi", mpi.name, "--transport", "tasuki", "-n", "2"]);
    // Open MPI 5 would not take another user's word for who he is, nor share files with him.
    command.args(["-x", "PMIX_MCA_psec=none", "-x", "PMIX_MCA_gds=hash"]);
    command.args(user).arg(program).arg(rounds);
    let run = MpiRun::of(command, lab, format!("{} as {}", mpi.name, user[1]));
    run.env("TASUKI_LANES", "raw,udp").env("TASUKI_BROKER", SOCKET).limit(300).start()
}

fn finished(job: Running, mpi: &Mpi) {
    assert!(job.ok().contains("collect ok"), "{}", mpi.name);
}

/// A program that others may read.
fn program(programs: &Programs, mpi: &Mpi) -> std::path::PathBuf {
    let program = programs.build("collect", mpi);
    let folder = program.parent().expect("a folder");
    ok(Command::new("chmod").args(["755"]).arg(folder));
    program
}

fn doctor(lab: &TestLab, user: &[&str]) -> serde_json::Value {
    let socket = format!("TASUKI_BROKER={SOCKET}");
    let words = [user, &["env", &socket, TASUKI, "doctor-facts"]].concat();
    serde_json::from_str(&lab.run("n1", &words)).expect("JSON")
}

#[test]
fn members_programs_get_raw_lanes_and_strangers_udp() {
    let test = "members_programs_get_raw_lanes_and_strangers_udp";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("broker", &["--shape", "pair:1"]);
    let _brokers = brokers(&lab);
    let programs = Programs::new();
    for mpi in launchable(test) {
        let program = program(&programs, &mpi);
        let mut job = start(&lab, &mpi, &program, &MEMBER, "10000");
        let now = until("frames both ways", &lab, &mut job, |told| {
            let raw = lane(told, "raw");
            raw.up && raw.sent > 500 && raw.received > 500
        });
        eprintln!("{}: {now:?}", mpi.name);
        finished(job, &mpi);
        let mut job = start(&lab, &mpi, &program, &STRANGER, "10000");
        let now = until("datagrams", &lab, &mut job, |told| lane(told, "udp").sent > 500);
        assert!(!now.lanes.contains_key("raw"), "{}: {now:?}", mpi.name);
        finished(job, &mpi);
    }
    let (member, stranger) = (doctor(&lab, &MEMBER), doctor(&lab, &STRANGER));
    assert!(member["raw_refused"].is_string() && member["broker_refused"].is_null(), "{member}");
    let remedy = stranger["broker_refused"]["remedy"].as_str().unwrap_or_default();
    assert!(remedy.contains("usermod"), "{stranger}");
}

/// Its sockets are the programs' own: a broker that dies takes nothing along. Afterwards programs use UDP.
#[test]
fn lanes_outlive_their_broker_and_without_one_there_is_udp() {
    let test = "lanes_outlive_their_broker_and_without_one_there_is_udp";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("brokerless", &["--shape", "pair:1"]);
    let programs = Programs::new();
    for mpi in launchable(test) {
        let program = program(&programs, &mpi);
        let mut dying = brokers(&lab);
        let mut job = start(&lab, &mpi, &program, &MEMBER, "20000");
        let before = until("frames", &lab, &mut job, |told| lane(told, "raw").received > 200);
        for broker in &mut dying {
            // The session in the lab ends with its client.
            broker.0.kill().expect("killed");
            broker.0.wait().expect("ends");
        }
        until("frames as before", &lab, &mut job, |told| {
            let raw = lane(told, "raw");
            raw.up && raw.received > lane(&before, "raw").received + 500
        });
        finished(job, &mpi);
        let mut job = start(&lab, &mpi, &program, &MEMBER, "10000");
        let now = until("datagrams", &lab, &mut job, |told| lane(told, "udp").sent > 500);
        assert!(!now.lanes.contains_key("raw"), "{}: {now:?}", mpi.name);
        finished(job, &mpi);
        lab.sh("n1", "rm -f /run/broker.sock");
        lab.sh("n2", "rm -f /run/broker.sock");
    }
    let facts = doctor(&lab, &MEMBER);
    let remedy = facts["broker_refused"]["remedy"].as_str().unwrap_or_default();
    assert!(remedy.contains("systemctl enable --now tasuki-broker.socket"), "{facts}");
}

/// A broker that is there and says nothing: programs start without it.
#[test]
fn a_broker_that_hangs_keeps_no_program_from_starting() {
    let test = "a_broker_that_hangs_keeps_no_program_from_starting";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("brokerstop", &["--shape", "pair:1"]);
    let _brokers = brokers(&lab);
    for pid in support::marked(&lab.name) {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // The broker itself, not the client that started it from outside.
        if words.starts_with(TASUKI.as_bytes()) && words.windows(6).any(|part| part == b"broker") {
            kill(Pid::from_raw(pid), Signal::SIGSTOP).expect("stops");
        }
    }
    let programs = Programs::new();
    for mpi in launchable(test).into_iter().take(1) {
        let program = program(&programs, &mpi);
        let mut job = start(&lab, &mpi, &program, &MEMBER, "10000");
        let now = until("datagrams", &lab, &mut job, |told| lane(told, "udp").sent > 500);
        assert!(!now.lanes.contains_key("raw"), "{}: {now:?}", mpi.name);
        finished(job, &mpi);
    }
}
