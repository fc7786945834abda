//! Stock MPIs over their own TCP in labs, with no setting that a user would have to guess: hello, ping-pong
//! and alltoall of every MPI on every kind of cluster; exit codes; ends.

use crate::support::{
    TestLab, background, eventually, marked,
    mpis::{Mpi, build, mpis, run_over, sent},
    ok, seed, skip_without_root, tasuki, text,
};
use std::{path::Path, process::Command};
use tasuki_random::Random;

fn run(lab: &TestLab, mpi: &str, ranks: u32, program: &Path) -> Command {
    run_over("tcp", lab, mpi, ranks, program)
}

#[test]
fn every_mpi_runs_on_every_kind_of_cluster() {
    let test = "every_mpi_runs_on_every_kind_of_cluster";
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let build = |mpi: Mpi| (mpi.name, build(&mpi, "together.c", folder.path()));
    let programs: Vec<_> = mpis(test).into_iter().map(build).collect();
    for (shape, hosts) in [("full:4", 4), ("star:4", 4), ("ring:5", 5), ("mixed:6/3", 6)] {
        let lab = TestLab::up("mpi", &["--shape", shape]);
        for (mpi, program) in &programs {
            let before = sent(&lab);
            let printed = ok(&mut run(&lab, mpi, hosts, program));
            let ranks = (1..=hosts).map(|host| format!("on n{host}"));
            let told = ["ring ok", "pingpong ok", "alltoall ok"].map(str::to_owned);
            for text in ranks.chain(told) {
                assert!(printed.contains(&text), "{mpi} on {shape}: no {text:?}: {printed}");
            }
            // The messages went over the cables.
            assert!(sent(&lab) > before + 100_000, "{mpi} on {shape}: payload went elsewhere");
        }
    }
}

#[test]
#[ignore = "long, and over Tasuki in the quick tests (faults::hpcc_on_four_hosts)"]
fn hpcc_verifies_on_four_hosts() {
    let test = "hpcc_verifies_on_four_hosts";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("hpcc", &["--shape", "full:4"]);
    let folder = tempfile::tempdir().expect("a folder");
    let input = tasuki_bench::hpcc::Input::new(4, 4 << 20).expect("a problem of 4 MiB");
    tasuki_bench::hpcc::prepare(folder.path(), &input).expect("an input file");
    let mut hpcc = run(&lab, "openmpi-4.1", 4, Path::new("hpcc"));
    ok(hpcc.current_dir(folder.path()));
    let outcome = tasuki_bench::hpcc::collect(folder.path(), &input).expect("results");
    let failed: Vec<_> = outcome.failed().collect();
    assert!(outcome.verified(), "{failed:?}");
    assert!(outcome.checks.len() > 5, "{:?}", outcome.checks);
}

#[test]
fn a_programs_exit_code_comes_back() {
    let test = "a_programs_exit_code_comes_back";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("code", &["--shape", "full:2"]);
    let folder = tempfile::tempdir().expect("a folder");
    for mpi in mpis(test) {
        let program = build(&mpi, "fault.c", folder.path());
        let mut exit = run(&lab, mpi.name, 2, &program);
        let output = exit.args(["exit", "7"]).output().expect("runs");
        let code = output.status.code();
        // Intel's proxies sometimes die of SIGPIPE, and then the exit code is theirs
        // (docs/reference/exit-codes.md).
        let is_theirs = mpi.name == "intel" && matches!(code, Some(255 | 141));
        assert!(code == Some(7) || is_theirs, "{}: {code:?}: {}", mpi.name, text(&output));
    }
}

#[test]
fn what_is_no_mpi_program_is_refused_in_words() {
    if skip_without_root("what_is_no_mpi_program_is_refused_in_words") {
        return;
    }
    let lab = TestLab::up("no-mpi", &["--shape", "full:2"]);
    let refusal = |program: &str| {
        let output = tasuki().args(["run", "--lab", &lab.name, "-n", "2", program]).output().expect("runs");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refusal("/bin/true").contains("uses no MPI"), "{}", refusal("/bin/true"));
    assert!(refusal("no-such-program").contains("no-such-program"));
}

#[test]
fn killing_run_at_any_moment_leaves_no_process() {
    let test = "killing_run_at_any_moment_leaves_no_process";
    if skip_without_root(test) {
        return;
    }
    let mut random = Random::new(seed(test));
    let lab = TestLab::up("killrun", &["--shape", "full:3"]);
    let folder = tempfile::tempdir().expect("a folder");
    let programs: Vec<_> =
        mpis(test).into_iter().map(|mpi| (mpi.name, build(&mpi, "hello.c", folder.path()))).collect();
    assert!(!programs.is_empty(), "no MPI is installed");
    let idle = marked(&lab.name).len();
    for round in 0..100 {
        let (mpi, program) = &programs[round % programs.len()];
        let mut process = background(&mut run(&lab, mpi, 3, program));
        std::thread::sleep(std::time::Duration::from_micros(random.below(900_000)));
        process.0.kill().expect("kills");
        process.0.wait().expect("ends");
        eventually(&format!("round {round}: {mpi}'s processes to end"), || marked(&lab.name).len() == idle);
    }
    // The lab has not suffered.
    let (mpi, program) = &programs[0];
    assert!(ok(&mut run(&lab, mpi, 3, program)).contains("ring ok"));
}
