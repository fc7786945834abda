//! A rank dies, or a host with all its ranks: no other rank goes on with wrong results, and none waits for
//! ever. The launcher's own clean-up is off, so that it does not depend on luck which of them is faster.
//! Which MPIs ignore errors, and why that ends processes, is in docs/results/mpi-behaviour.md.

use crate::support::{
    TestLab,
    killed::{uncleaned, wait_for_ranks},
    mpi::{Programs, families},
    mpis::{Mpi, mpis},
    run::MpiRun,
    skip_without_root,
};
use std::{collections::HashSet, time::Duration};

/// Each death may have to be noticed by one rank after the other, a second or two each. The limit tells a
/// hang from a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(60);

/// One run, by the arguments of `programs/survivors.c`.
#[derive(Clone, Copy)]
struct Death<'a> {
    operation: &'a str,
    handler: &'a str,
    /// What dies: `rank` or `host`.
    whose: &'a str,
    /// When it dies: `before` the operation or `amid` it.
    when: &'a str,
    count: &'a str,
}

/// A lab and what has been run in it.
struct Stage {
    lab: TestLab,
    hosts: u32,
    ranks: u32,
    /// Combinations of MPI, operation and length that gave right results while all ranks lived.
    proven: HashSet<[String; 3]>,
}

impl Stage {
    fn new(hosts: u32, ranks_per_host: u32) -> Self {
        let lab = TestLab::up("survivors", &["--shape", &format!("full:{hosts}")]);
        Self { lab, hosts, ranks: hosts * ranks_per_host, proven: HashSet::new() }
    }

    /// Runs until the last rank dies, or its host. Returns what is wrong with the other ranks, if anything.
    fn run(&mut self, mpi: &Mpi, programs: &Programs, death: &Death) -> Result<(), String> {
        let built = programs.build("survivors", mpi);
        let Death { operation, handler, whose, when, count } = *death;
        if self.proven.insert([mpi.name, operation, count].map(str::to_owned)) {
            let argv = [operation, handler, "nobody", whose, when, count];
            let whole = MpiRun::new(&self.lab, mpi, "tasuki", self.ranks, &built).args(argv).ok();
            assert!(whole.contains("survivors ok"), "{}: {whole}", mpi.name);
        }
        let victim = (self.ranks - 1).to_string();
        let argv = [operation, handler, &victim, whose, when, count];
        let run = uncleaned(&self.lab, mpi, "tasuki", self.ranks, &built, &argv, &[]);
        let ended = wait_for_ranks(run.limit(2 * HANGS_AFTER.as_secs()).start(), HANGS_AFTER);
        if whose == "host" {
            // Only the first process of the host is left.
            *self = Stage::new(self.hosts, self.ranks / self.hosts);
        }
        if ended.printed.contains("WRONG") {
            return Err(format!("wrong results: {}", ended.report));
        }
        if !ended.in_time {
            return Err(format!("ranks still live: {}", ended.report));
        }
        Ok(())
    }
}

/// Runs all deaths on all MPIs, reports each, and fails at the end if any of them was not survived well.
fn all(test: &str, hosts: u32, ranks_per_host: u32, deaths: &[Death]) {
    if skip_without_root(test) {
        return;
    }
    let programs = Programs::new();
    let mut stage = Stage::new(hosts, ranks_per_host);
    let mut failures = Vec::new();
    // TASUKI_TEST_MPI=intel,mpich-5.0 selects some MPIs.
    let chosen = std::env::var_os("TASUKI_TEST_MPI").is_some();
    for mpi in if chosen { families(test) } else { mpis(test) } {
        for death in deaths {
            let Death { operation, handler, whose, when, count } = death;
            let what = format!(
                "{}: {hosts} x {ranks_per_host} ranks, {operation} of {count}, {handler}, a {whose} dies \
                 {when}",
                mpi.name
            );
            eprintln!("{test}: {what}");
            if let Err(failure) = stage.run(&mpi, &programs, death) {
                failures.push(format!("{what}: {failure}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

const BEFORE: Death = Death { operation: "", handler: "fatal", whose: "rank", when: "before", count: "1" };

/// Before processes ended upon a peer's death, Open MPI 5 gave wrong sums, MPICH a sum that no rank had
/// written, and Intel MPI gathered from the dead rank.
#[test]
fn nobody_goes_on_with_wrong_results() {
    let test = "nobody_goes_on_with_wrong_results";
    all(
        test,
        2,
        2,
        &["allreduce", "reduce_scatter", "gather"].map(|operation| Death { operation, ..BEFORE }),
    );
}

#[test]
fn nobody_goes_on_without_a_host() {
    let one = Death { operation: "put_flush", whose: "host", when: "amid", ..BEFORE };
    all("nobody_goes_on_without_a_host", 2, 1, &[one]);
}

const OPERATIONS: [&str; 20] = [
    "allreduce",
    "iallreduce",
    "reduce",
    "bcast",
    "ibcast",
    "barrier",
    "alltoall",
    "allgather",
    "gather",
    "scatter",
    "reduce_scatter",
    "scan",
    "sendrecv",
    "waitall",
    "ssend",
    "comm_dup",
    "put_fence",
    "acc_fence",
    "put_flush",
    "acc_flush",
];

/// Every operation, short and long, with both error handlers, while a rank or a host dies before it or in its
/// midst.
fn everything(test: &str, hosts: u32, ranks_per_host: u32) {
    let mut deaths = Vec::new();
    for operation in OPERATIONS {
        for (whose, when, count, handler) in [
            ("rank", "before", "1", "fatal"),
            ("rank", "before", "20000", "return"),
            ("rank", "amid", "1", "return"),
            ("rank", "amid", "20000", "fatal"),
            ("host", "before", "1", "return"),
            ("host", "amid", "20000", "fatal"),
        ] {
            deaths.push(Death { operation, handler, whose, when, count });
        }
    }
    all(test, hosts, ranks_per_host, &deaths);
}

#[test]
#[ignore = "takes half an hour"]
fn everything_on_two_hosts() {
    everything("everything_on_two_hosts", 2, 1);
}

#[test]
#[ignore = "takes half an hour"]
fn everything_with_two_ranks_on_two_hosts() {
    everything("everything_with_two_ranks_on_two_hosts", 2, 2);
}

#[test]
#[ignore = "takes half an hour"]
fn everything_with_three_ranks_on_two_hosts() {
    everything("everything_with_three_ranks_on_two_hosts", 2, 3);
}

#[test]
#[ignore = "takes half an hour"]
fn everything_on_three_hosts() {
    everything("everything_on_three_hosts", 3, 1);
}

#[test]
#[ignore = "takes half an hour"]
fn everything_with_two_ranks_on_three_hosts() {
    everything("everything_with_two_ranks_on_three_hosts", 3, 2);
}

#[test]
#[ignore = "takes half an hour"]
fn everything_with_three_ranks_on_three_hosts() {
    everything("everything_with_three_ranks_on_three_hosts", 3, 3);
}
