//! MPIs under a real Slurm, which starts their ranks; Tasuki carries the messages.

use crate::support::{
    mpi::Programs,
    mpis::{Mpi, build, mpis, peers},
    ok, skipped,
    slurm::{Slurm, spank},
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
fn rails_are_resources_of_nodes() {
    let Some(slurm) = Slurm::up("rails_are_resources_of_nodes") else { return };
    // Both hosts have the NIC of their one cable.
    let nodes = ok(&mut slurm.command("n1", "sinfo", &["-h", "-N", "-o", "%N %G"]));
    assert_eq!(nodes, "n1 rail:1\nn2 rail:1\n");
    let said = ok(&mut slurm.command("n1", "srun", &["-N2", "--gres=rail:1", "hostname"]));
    let mut lines: Vec<_> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["n1", "n2"]);
    let output = slurm.command("n1", "srun", &["-N2", "--gres=rail:2", "hostname"]).output().expect("runs");
    let said = text(&output);
    assert!(!output.status.success() && said.contains("Requested node configuration"), "{said}");
}

/// Without a TaskProlog, since no MPI is named to it.
#[test]
fn a_spank_plug_in_gives_every_step_its_variables() {
    let test = "a_spank_plug_in_gives_every_step_its_variables";
    let Some(slurm) = Slurm::up(test) else { return };
    if !peers().join("slurm/usr/include/slurm/spank.h").exists() {
        return skipped(test, "no spank.h: scripts/oracles");
    }
    spank(&slurm);
    for mpi in mpis(test) {
        let hello = build(&mpi, "hello.c", slurm.path());
        let script = format!("echo over $FI_PROVIDER; exec {}", hello.display());
        let choice = format!("--tasuki={}", mpi.name);
        let argv = ["-N2", "-n4", &choice, plugin(&mpi), "sh", "-c", &script];
        let said = ok(&mut slurm.command("n1", "srun", &argv));
        assert_eq!(said.matches("over tasuki\n").count(), 4, "{}: {said}", mpi.name);
        for line in ["rank 0 of 4 on n1", "rank 3 of 4 on n2", "ring ok"] {
            assert!(said.contains(line), "{}: {said}", mpi.name);
        }
    }
    let script = ["sh", "-c", "echo provider $FI_PROVIDER"];
    for choice in [&[][..], &["--tasuki=off"]] {
        let argv = [&["-N2"], choice, &script[..]].concat();
        let said = ok(&mut slurm.command("n1", "srun", &argv));
        assert_eq!(said, "provider\nprovider\n", "{choice:?}: variables are for steps that ask for them");
    }
    // A step whose MPI is not there does not begin, and its user reads why.
    let argv = ["-N2", "--tasuki=nonsense", "hostname"];
    let output = slurm.command("n1", "srun", &argv).output().expect("runs");
    let said = text(&output);
    assert!(!output.status.success() && said.contains("no such MPI is installed"), "{said}");
}

#[test]
fn a_prolog_without_its_cluster_file_says_so() {
    let mut command = crate::support::tasuki();
    command.args(["slurm", "task-prolog", "--mpi", "openmpi-4.1", "--cluster", "/no/such/file"]);
    let said = text(&command.output().expect("runs"));
    assert!(said.contains("/no/such/file") && !said.contains("export"), "{said}");
}
