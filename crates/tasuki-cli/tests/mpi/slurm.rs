//! MPIs under a real Slurm, which starts their ranks; Tasuki carries the messages.

use crate::support::{
    mpi::Programs,
    mpis::{Mpi, build, mpis},
    ok,
    slurm::Slurm,
    text,
};
use std::fs;

/// The plug-in by which Slurm speaks to this MPI.
fn plugin(mpi: &Mpi) -> &'static str {
    if mpi.is_open_mpi() { "--mpi=pmix" } else { "--mpi=pmi2" }
}

#[test]
fn what_srun_starts_finds_its_ranks_over_tasuki() {
    let test = "what_srun_starts_finds_its_ranks_over_tasuki";
    let Some(slurm) = Slurm::up(test) else { return };
    for mpi in mpis(test) {
        let hello = build(&mpi, "hello.c", slurm.path());
        let script = format!("echo over $FI_PROVIDER; exec {}", hello.display());
        let argv = ["-N2", "-n4", plugin(&mpi), "sh", "-c", &script];
        let said = ok(slurm.command("n1", "srun", &argv).env("WITH_MPI", mpi.name));
        assert_eq!(said.matches("over tasuki\n").count(), 4, "{}: {said}", mpi.name);
        for line in ["rank 0 of 4 on n1", "rank 3 of 4 on n2", "ring ok"] {
            assert!(said.contains(line), "{}: {said}", mpi.name);
        }
    }
}

/// What the guide says: a script that asks for the variables itself, and arrays.
#[test]
fn a_batch_script_asks_for_the_variables_itself() {
    let test = "a_batch_script_asks_for_the_variables_itself";
    let Some(slurm) = Slurm::up(test) else { return };
    let Some(mpi) = mpis(test).into_iter().find(|mpi| mpi.name == "mpich-5.0") else { return };
    let hello = build(&mpi, "hello.c", slurm.path());
    let script = format!(
        "#!/bin/sh\n#SBATCH --nodes=2 --ntasks-per-node=2\n\
         eval \"$({} env --mpi mpich-5.0 --cluster cluster.toml)\"\n\
         srun --mpi=pmi2 {}\n",
        env!("CARGO_BIN_EXE_tasuki"),
        hello.display()
    );
    fs::write(slurm.path().join("job"), script).expect("a file");
    let argv = ["--wait", "--array=0-1", "-o", "out.%a", "job"];
    ok(slurm.command("n1", "sbatch", &argv).env("WITH_MPI", mpi.name));
    for index in 0..2 {
        let said = fs::read_to_string(slurm.path().join(format!("out.{index}"))).expect("its output");
        assert!(said.contains("rank 3 of 4 on n2") && said.contains("ring ok"), "{said}");
    }
}

#[test]
fn a_killed_rank_ends_its_step() {
    let test = "a_killed_rank_ends_its_step";
    let Some(slurm) = Slurm::up(test) else { return };
    let programs = Programs::new();
    for mpi in mpis(test).into_iter().filter(|mpi| mpi.name != "intel") {
        // Hosts have a /tmp of their own.
        let victim = slurm.path().join(format!("victim-{}", mpi.name));
        fs::copy(programs.build("victim", &mpi), &victim).expect("a copy");
        let argv = ["-N2", "-n2", plugin(&mpi), &victim.to_string_lossy(), "receive"];
        let output = slurm.command("n1", "srun", &argv).env("WITH_MPI", mpi.name).output().expect("runs");
        let said = text(&output);
        // 124 would be this test's own limit.
        assert!(![Some(0), Some(124)].contains(&output.status.code()), "{}: {said}", mpi.name);
        assert!(said.contains("Killed"), "{}: Slurm says what became of the rank: {said}", mpi.name);
    }
}

#[test]
fn a_prolog_without_its_cluster_file_says_so() {
    let mut command = crate::support::tasuki();
    command.args(["slurm", "task-prolog", "--mpi", "openmpi-4.1", "--cluster", "/no/such/file"]);
    let said = text(&command.output().expect("runs"));
    assert!(said.contains("/no/such/file") && !said.contains("export"), "{said}");
}
