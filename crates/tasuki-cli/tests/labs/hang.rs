//! `tasuki hang`: programs whose end is known, and what is said of them.

use crate::support::{
    Background, TestLab, eventually,
    mpis::{Mpi, build_for_debuggers, mpis, run_over},
    skip_without_root, tasuki, text,
};
use serde_json::Value;
use std::{fs, path::Path, process::Stdio};

/// What is said of the program `hangs NAME` on three ranks; and the exit code.
fn said(lab: &TestLab, mpi: &Mpi, program: &Path, name: &str) -> (Value, Option<i32>) {
    let log = program.with_extension("said");
    let mut job = run_over("tasuki", lab, mpi.name, 3, program);
    job.arg(name);
    job.stdin(Stdio::null()).stdout(fs::File::create(&log).expect("a file"));
    let _job = Background(job.spawn().expect("starts"));
    let begun = || fs::read_to_string(&log).expect("a file").matches("begun").count() == 3;
    eventually("three ranks to begin", begun);
    let look = || {
        let output = tasuki().args(["hang", "--json", "--lab", &lab.name]).output().expect("runs");
        let found: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
        (found[0].clone(), output.status.code())
    };
    // Just after they have begun, messages still move.
    let mut found = look();
    if !["moves", "puts"].contains(&name) {
        eventually("no message to move", || {
            found = look();
            found.0["state"] != "goes-on"
        });
    }
    found
}

fn check(test: &str, of: &[&str], cases: &[(&str, &str, &str, &str)]) {
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("hang", &["--shape", "full:2", "--rate", "100M"]);
    let folder = tempfile::tempdir().expect("a folder");
    for mpi in mpis(test).iter().filter(|mpi| of.contains(&mpi.name)) {
        let program = build_for_debuggers(mpi, "hangs.c", folder.path());
        // Intel's library has no symbols of its functions, so that what ends them is not known.
        let blind = mpi.name == "intel";
        for &(name, state, call, word) in cases {
            let (found, code) = said(&lab, mpi, &program, name);
            let told = found.to_string();
            let state = if blind && state == "stuck" { "suspected" } else { state };
            // One of several states, where it depends on how the MPI sends.
            let found = found["state"].as_str().expect("a state");
            assert!(state.split('|').any(|state| state == found), "{} {name}: {told}", mpi.name);
            assert_eq!(code, Some(if found == "goes-on" { 0 } else { 3 }), "{} {name}: {told}", mpi.name);
            for part in [call, word].into_iter().filter(|_| !blind) {
                assert!(told.contains(part), "{} {name}: {part} is missing: {told}", mpi.name);
            }
        }
    }
}

/// Programs of `hangs.c`: what they do, the verdict, a function in which a rank is, and what is said of it.
const CASES: [(&str, &str, &str, &str); 8] = [
    ("order", "stuck", "MPI_Allreduce", "rank 2 is elsewhere"),
    ("sleeps", "late", "MPI_Barrier", "wait for rank 2, outside MPI"),
    ("moves", "goes-on", "hangs.c", "have moved"),
    ("crossed", "stuck", "MPI_Recv", "a send is missing"),
    ("tags", "stuck", "MPI_Recv", "compare tags"),
    ("heads", "stuck", "MPI_Send", "MPI_Sendrecv"),
    ("puts", "goes-on|suspected", "hangs.c", ""),
    ("polls", "suspected", "MPI_Iprobe", "without a message"),
];

#[test]
fn a_hang_is_told_from_a_late_rank_and_from_a_job_that_goes_on() {
    check("a_hang_is_told_from_a_late_rank_and_from_a_job_that_goes_on", &["mpich-4.3"], &CASES[..3]);
}

#[test]
#[ignore = "takes minutes: eight programs on every MPI"]
fn hangs_are_told_on_every_mpi() {
    let all = ["openmpi-4.1", "openmpi-5.0", "mpich-4.3", "mpich-5.0", "intel"];
    check("hangs_are_told_on_every_mpi", &all, &CASES);
}
