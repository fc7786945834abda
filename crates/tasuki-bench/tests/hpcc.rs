//! A real run of hpcc on this machine. Without hpcc and an MPI it is skipped.

use std::{process::Command, time::Duration};
use tasuki_bench::hpcc::{Input, Outcome, collect, prepare};
use tasuki_process::run_limited;

#[test]
fn hpcc_on_four_ranks_passes_its_own_verifications() -> Result<(), Box<dyn std::error::Error>> {
    let input = Input::new(4, 1_000_000)?;
    let folder = tempfile::tempdir()?;
    // An output of an earlier run must not be mistaken for this one's.
    std::fs::write(folder.path().join("hpccoutf.txt"), include_str!("data/hpccoutf.txt"))?;
    prepare(folder.path(), &input)?;
    let mut command = Command::new("mpirun");
    command
        .args([
            "--oversubscribe",
            "--bind-to",
            "none",
            "--mca",
            "mpi_yield_when_idle",
            "1",
            "-np",
            "4",
            "hpcc",
        ])
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .current_dir(folder.path());
    let installed = Command::new("sh").args(["-c", "command -v hpcc && command -v mpirun"]).output()?;
    if !installed.status.success() {
        eprintln!("skipped: no hpcc or no mpirun");
        return Ok(());
    }
    // Two seconds on a quiet machine; only a hang takes so long.
    let output = run_limited(&mut command, Duration::from_secs(1800))?;
    assert!(output.is_success(), "{}: {}", output.reason(), output.stderr);
    let outcome: Outcome = collect(folder.path(), &input)?;
    assert!(outcome.verified(), "{:?}", outcome.failed().collect::<Vec<_>>());
    assert_eq!(outcome.figures.get("HPL_N").copied(), Some(input.order() as f64));
    assert_eq!(outcome.figures.get("CommWorldProcs").copied(), Some(4.0));
    Ok(())
}
