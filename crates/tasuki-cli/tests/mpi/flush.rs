//! MPI_Win_flush returns when the data are in the target's memory, also if the target computes and calls no
//! MPI. MPICH over its own TCP returns before; Open MPI 4.1 and Intel MPI return when the target calls MPI,
//! over any transport (docs/results/mpi-behaviour.md).

use crate::support::{TestLab, mpi::Programs, mpis::mpis, run::MpiRun, skip_without_root};

#[test]
fn a_flush_returns_when_the_data_are_there() {
    let test = "a_flush_returns_when_the_data_are_there";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("flush", &["--shape", "full:2"]);
    let programs = Programs::new();
    let serves = |name: &str| name.starts_with("mpich") || name == "openmpi-5.0";
    for mpi in mpis(test).into_iter().filter(|mpi| serves(mpi.name)) {
        let folder = tempfile::tempdir().expect("a folder for what ranks tell each other");
        let built = programs.build("flush", &mpi);
        let run = MpiRun::new(&lab, &mpi, "tasuki", 2, &built).args([folder.path()]);
        let printed = run.ok();
        assert!(printed.contains("flush ok"), "{}: {printed}", mpi.name);
    }
}
