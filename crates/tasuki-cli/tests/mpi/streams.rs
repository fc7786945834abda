//! Streams (`TASUKI_BULK`) under whole MPI programs: long messages and those of a middle length go by TCP
//! where that is wanted, and arrive complete whatever happens to the cables. That TCP was used is seen in a
//! host's counters (`/proc/net/snmp`): segments that have arrived.

use crate::support::{
    TestLab,
    mpi::{Programs, families},
    mpis::Mpi,
    run::MpiRun,
    seed, skip_without_root,
};
use std::{path::Path, thread, time::Duration};

/// Most segments that arrive without streams: those of the launcher's messages.
const FEW: u64 = 5_000;

fn headon(lab: &TestLab, mpi: &Mpi, program: &Path, mebibytes: u32) -> MpiRun {
    MpiRun::new(lab, mpi, "tasuki", 2, program).args([mebibytes.to_string()]).limit(300)
}

fn halo(lab: &TestLab, mpi: &Mpi, program: &Path, rounds: u32, seed: &str) -> MpiRun {
    MpiRun::new(lab, mpi, "tasuki", 2, program).args([rounds.to_string(), seed.to_owned()]).limit(300)
}

/// Number of segments of TCP that have arrived at a host (RFC 4022, tcpInSegs).
fn segments(lab: &TestLab) -> u64 {
    let text = lab.sh("n1", "cat /proc/net/snmp");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { panic!("no counters: {text}") };
    let at = names.split(' ').position(|name| name == "InSegs").expect("a counter of segments");
    values.split(' ').nth(at).and_then(|value| value.parse().ok()).expect("a number")
}

#[test]
fn streams_over_wires_that_lose_double_and_damage() {
    let test = "streams_over_wires_that_lose_double_and_damage";
    if skip_without_root(test) {
        return;
    }
    let seed = (seed(test) as u32).to_string();
    let lab = TestLab::up("strfault", &["--shape", "pair:2", "--seed", &seed]);
    [("loss", "0.3%"), ("duplicate", "1%"), ("corrupt", "0.1%")]
        .iter()
        .for_each(|(kind, share)| lab.fault(kind, &["all", share]));
    let programs = Programs::new();
    for mpi in families(test) {
        let (program, pieces) = (programs.build("headon", &mpi), programs.build("halo", &mpi));
        let before = segments(&lab);
        let printed = headon(&lab, &mpi, &program, 8).env("TASUKI_BULK", "streams").ok();
        assert!(printed.contains("headon ok"), "{}: {printed}", mpi.name);
        let printed = halo(&lab, &mpi, &pieces, 200, &seed).env("TASUKI_BULK", "streams").ok();
        assert!(printed.contains("halo ok"), "{}: {printed}", mpi.name);
        let came = segments(&lab) - before;
        assert!(came > FEW, "{}: {came} segments: not by stream", mpi.name);
        eprintln!("{}: {came} segments", mpi.name);
    }
}

/// The cable of the stream dies while a job runs, and its NIC does not notice: the job goes on in packets,
/// over the other cable. `job` makes it of an MPI and a program, which is the one of this name.
fn survives_the_cable(test: &str, program: &str, job: impl Fn(&TestLab, &Mpi, &Path) -> MpiRun) {
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("strdead", &["--shape", "pair:2"]);
    let programs = Programs::new();
    for mpi in families(test) {
        let before = segments(&lab);
        let run = job(&lab, &mpi, &programs.build(program, &mpi));
        let mut job = run.env("TASUKI_BULK", "streams").start();
        while job.is_running() && segments(&lab) - before < 2 * FEW {
            thread::sleep(Duration::from_millis(5));
        }
        lab.fault("cut", &["n1:eth1", "--keep-carrier"]);
        let printed = job.ok();
        assert!(printed.contains(&format!("{program} ok")), "{}: {printed}", mpi.name);
        assert!(segments(&lab) - before > FEW, "{}: not by stream", mpi.name);
        lab.fault("heal", &["all"]);
    }
}

/// In the middle of a message.
#[test]
fn a_cable_that_dies_under_a_stream() {
    let test = "a_cable_that_dies_under_a_stream";
    survives_the_cable(test, "headon", |lab, mpi, program| headon(lab, mpi, program, 64));
}

/// Between pieces of which some have been pushed and not received.
#[test]
fn a_cable_that_dies_under_pieces() {
    let test = "a_cable_that_dies_under_pieces";
    let seed = (seed(test) as u32).to_string();
    survives_the_cable(test, "halo", |lab, mpi, program| halo(lab, mpi, program, 1_500, &seed));
}

/// Number of segments of TCP that arrive while pieces of a middle length go to and fro by the default.
fn segments_of_pieces(lab: &TestLab, mpi: &Mpi, program: &Path, rounds: u32, seed: &str) -> u64 {
    let before = segments(lab);
    halo(lab, mpi, program, rounds, seed).ok();
    segments(lab) - before
}

/// By default pieces of a middle length go in packets over a slow cable.
#[test]
fn pieces_go_in_packets_over_a_slow_cable() {
    let test = "pieces_go_in_packets_over_a_slow_cable";
    if skip_without_root(test) {
        return;
    }
    let seed = (seed(test) as u32).to_string();
    let programs = Programs::new();
    let lab = TestLab::up("strslow", &["--shape", "full:2", "--rate", "400M"]);
    for mpi in families(test) {
        let came = segments_of_pieces(&lab, &mpi, &programs.build("halo", &mpi), 200, &seed);
        assert!(came < FEW, "{}: {came} segments: a stream", mpi.name);
    }
}

/// By default pieces of a middle length go by stream over one fast cable, whether the kernel joins packets or
/// not. What is fast, the unit tests of the engine's `speeds` say without a clock.
#[test]
#[ignore = "needs processors that make a cable without a shaper fast: a slow or busy machine has none"]
fn pieces_go_by_stream_over_a_fast_cable() {
    let test = "pieces_go_by_stream_over_a_fast_cable";
    if skip_without_root(test) {
        return;
    }
    let seed = (seed(test) as u32).to_string();
    let programs = Programs::new();
    for mpi in families(test) {
        let program = programs.build("halo", &mpi);
        for (name, offloads) in [("strone", &["--offloads"][..]), ("strtwo", &[])] {
            let lab = TestLab::up(name, &[&["--shape", "full:2", "--unshaped"], offloads].concat());
            let came = |_| segments_of_pieces(&lab, &mpi, &program, 1_500, &seed) > FEW;
            assert!((0..20).any(came), "{}: {name}: no stream", mpi.name);
        }
    }
}

/// By default streams are used where packets arrive fast and one by one.
#[test]
#[ignore = "needs processors that make a cable without a shaper fast: a slow or busy machine has none"]
fn streams_are_chosen_where_packets_are_costly() {
    let test = "streams_are_chosen_where_packets_are_costly";
    if skip_without_root(test) {
        return;
    }
    let programs = Programs::new();
    let Some(mpi) = families(test).into_iter().next() else { return };
    let program = programs.build("headon", &mpi);
    let fast = TestLab::up("strfast", &["--shape", "full:2", "--unshaped"]);
    let came = |_| segments_of_long_messages(&fast, &mpi, &program, 128) > FEW;
    assert!((0..10).any(came), "bare cables without coalescing, and no stream");
}

/// By default long messages go in packets where the kernel joins them, and where the cable is slow.
#[test]
fn long_messages_go_in_packets_where_these_cost_little() {
    let test = "long_messages_go_in_packets_where_these_cost_little";
    if skip_without_root(test) {
        return;
    }
    let programs = Programs::new();
    let Some(mpi) = families(test).into_iter().next() else { return };
    let program = programs.build("headon", &mpi);
    let joined = TestLab::up("strjoin", &["--shape", "full:2", "--unshaped", "--offloads"]);
    assert!(segments_of_long_messages(&joined, &mpi, &program, 64) < FEW, "the kernel joins packets");
    let slow = TestLab::up("strgiga", &["--shape", "full:2"]);
    assert!(segments_of_long_messages(&slow, &mpi, &program, 16) < FEW, "a cable of 1 Gbit/s");
}

/// Number of segments of TCP that arrive while long messages meet head-on by the default.
fn segments_of_long_messages(lab: &TestLab, mpi: &Mpi, program: &Path, mebibytes: u32) -> u64 {
    let before = segments(lab);
    headon(lab, mpi, program, mebibytes).ok();
    segments(lab) - before
}
