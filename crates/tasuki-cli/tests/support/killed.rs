//! Runs in which ranks die and whose launcher does nothing about it, so that the other ranks have to end by
//! themselves.

use super::{
    TestLab,
    mpis::{Mpi, peers},
    ok,
    run::{MpiRun, Running},
    tasuki,
};
use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// Options that keep a launcher from ending the other ranks when one is killed: mpirun(1) of Open MPI 4.1
/// (`--enable-recovery`), prterun's `--runtime-options`, `mpiexec.hydra -help`.
fn without_cleanup(mpi: &str) -> &'static str {
    match mpi {
        "openmpi-4.1" => "--enable-recovery --mca orte_abort_on_non_zero_exit 0",
        "openmpi-5.0" => "--runtime-options recoverable,continuous",
        _ => "-disable-auto-cleanup",
    }
}

/// A run with the launcher's clean-up disabled: its command line, as `--dry-run` prints it, with the options
/// of [`without_cleanup`] behind the launcher. The program must have run in this lab before, because that
/// makes it visible in all hosts.
pub fn uncleaned(
    lab: &TestLab,
    mpi: &Mpi,
    transport: &str,
    ranks: u32,
    program: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> MpiRun {
    let common = ["--lab", &lab.name, "--mpi", mpi.name, "--transport", transport, "-n", &ranks.to_string()];
    let mut dry = tasuki();
    dry.arg("run").args(common).arg("--dry-run").arg(program).args(arguments);
    dry.env("TASUKI_PEERS", peers()).env("TASUKI_DUMP", "1").envs(variables.iter().copied());
    let line = ok(&mut dry);
    let is_launcher =
        |word: &&str| word.starts_with('/') && (word.contains("/mpirun") || word.contains("/mpiexec"));
    let launcher = line.split(' ').find(is_launcher).expect("a launcher");
    let line = line.replacen(launcher, &format!("{launcher} {}", without_cleanup(mpi.name)), 1);
    let mut command = tasuki();
    let line = format!("env {line}");
    command.args(["lab", "exec", "--lab", &lab.name, "--job", "n1", "--", "sh", "-c", &line]);
    MpiRun::of(command, lab, format!("{} over {transport}, {ranks} ranks, {arguments:?}", mpi.name))
}

/// How a run ended in which some ranks died.
pub struct Ended {
    /// Whether no rank lives any more. The launcher may: some wait for ever for a host that has lost its
    /// daemon.
    pub in_time: bool,
    /// What all ranks have printed.
    pub printed: String,
    /// Everything about the run, for messages.
    pub report: String,
}

/// Waits until no rank lives, for `limit` at most.
pub fn wait_for_ranks(mut running: Running, limit: Duration) -> Ended {
    let end = Instant::now() + limit;
    let mut began = false;
    while running.is_running() && Instant::now() < end {
        let alive = !running.ranks().is_empty();
        if began && !alive {
            // The last output of the ranks still has to pass through the launcher.
            thread::sleep(Duration::from_millis(200));
            break;
        }
        began |= alive;
        thread::sleep(Duration::from_millis(50));
    }
    let in_time = !running.is_running() || running.ranks().is_empty();
    let printed = running.printed();
    let finished = running.end();
    Ended { in_time, printed, report: finished.report() }
}
