//! One-sided operations of every MPI over Tasuki. Which of them go into the target's memory without its
//! program is in docs/results/one-sided.md.

use crate::support::{TestLab, mpi::Programs, mpis::mpis, run::MpiRun, skip_without_root};

#[test]
fn one_sided_operations_are_right() {
    let test = "one_sided_operations_are_right";
    if skip_without_root(test) {
        return;
    }
    let lab = TestLab::up("windows", &["--shape", "full:2"]);
    let programs = Programs::new();
    for mpi in mpis(test) {
        let run = MpiRun::new(&lab, &mpi, "tasuki", 4, &programs.build("windows", &mpi));
        let printed = run.ok();
        assert!(printed.contains("windows ok"), "{}: {printed}", mpi.name);
    }
}
