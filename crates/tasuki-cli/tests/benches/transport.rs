//! Stock MPIs over Tasuki in labs: every MPI on every kind of cluster, with verified contents, and proof that
//! Tasuki has carried the messages.

use crate::support::{
    TestLab,
    mpis::{Mpi, build, mpis, run_over, sent},
    skip_without_root, text,
};
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Seconds after which a job counts as hanging: the longest of these jobs takes some seconds. Nothing is
/// measured with it.
const HANGS_AFTER_S: &str = "120";

/// Runs the command under a watchdog.
fn bounded(command: &Command) -> Output {
    let mut bounded = Command::new("timeout");
    bounded.args(["-k", "10", HANGS_AFTER_S]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bounded.env(name, value),
            None => bounded.env_remove(name),
        };
    }
    bounded.stdin(std::process::Stdio::null()).output().expect("timeout(1) runs")
}

/// Runs the command to its end, and demands success and these texts.
fn says(what: &str, argv: &str, command: &Command) -> String {
    let output = bounded(command);
    let hung = if output.status.code() == Some(124) { "HANGS" } else { "failed" };
    assert!(output.status.success(), "{what} {hung}: {command:?}: {}", text(&output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains(argv), "{what}: no {argv:?} in {}", text(&output));
    printed
}

/// A program that passes messages of all lengths to and fro and between all ranks, built with every MPI.
fn programs(test: &str, folder: &Path) -> Vec<(Mpi, PathBuf)> {
    let build = |mpi: Mpi| {
        let program = build(&mpi, "together.c", folder);
        (mpi, program)
    };
    mpis(test).into_iter().map(build).collect()
}

/// Runs the program. Returns what it printed.
fn passes(what: &str, command: &Command) -> String {
    let printed = says(what, "ring ok", command);
    for text in ["pingpong ok", "alltoall ok"] {
        assert!(printed.contains(text), "{what}: no {text:?} in {printed}");
    }
    printed
}

/// Every MPI with a rank on each host of a lab.
fn every_mpi_on(test: &str, shape: &str, hosts: u32) {
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let lab = TestLab::up("tasuki", &["--shape", shape]);
    for (mpi, program) in programs(test, folder.path()) {
        let what = format!("{} on {shape}", mpi.name);
        let before = sent(&lab);
        let printed = passes(&what, &run_over("tasuki", &lab, mpi.name, hosts, &program));
        for host in 1..=hosts {
            assert!(printed.contains(&format!("on n{host}")), "{what}: no rank on n{host}: {printed}");
        }
        assert!(sent(&lab) > before + 100_000, "{what}: payload went elsewhere");
    }
}

#[test]
fn every_mpi_on_a_full_mesh() {
    every_mpi_on("every_mpi_on_a_full_mesh", "full:4", 4);
}

#[test]
fn every_mpi_through_a_switch() {
    every_mpi_on("every_mpi_through_a_switch", "star:4", 4);
}

#[test]
fn every_mpi_through_relaying_hosts() {
    every_mpi_on("every_mpi_through_relaying_hosts", "ring:5", 5);
}

#[test]
fn every_mpi_on_cables_and_a_switch() {
    every_mpi_on("every_mpi_on_cables_and_a_switch", "mixed:6/3", 6);
}

#[test]
#[ignore = "long: eight ranks on few cores"]
fn every_mpi_on_eight_hosts() {
    every_mpi_on("every_mpi_on_eight_hosts", "mixed:8/4", 8);
}

#[test]
fn every_mpi_inside_one_host() {
    let test = "every_mpi_inside_one_host";
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.toml");
    let file = file.to_str().expect("UTF-8");
    crate::support::ok(
        crate::support::tasuki().args(["cluster", "new", "full:2", "--cores", "4", "-o", file]),
    );
    let lab = TestLab::up("tasuki-one", &[file]);
    for (mpi, program) in programs(test, folder.path()) {
        let before = sent(&lab);
        let mut command = crate::support::tasuki();
        command.args(["run", "--transport", "tasuki", "--by", "slot", "--lab", &lab.name]);
        command.args(["--mpi", mpi.name, "-n", "4"]).arg(&program);
        command.env("TASUKI_PEERS", crate::support::mpis::peers());
        let printed = passes(&format!("{} on one host", mpi.name), &command);
        assert!(!printed.contains("on n2"), "{printed}");
        // Several MB were exchanged; what has crossed cables are a few packets of IPv6.
        assert!(sent(&lab) < before + 100_000, "{}: payload left the host", mpi.name);
    }
}

// TASUKI_SHM takes 0 or 1 and only Tasuki reads it: an MPI that fails because of it was using Tasuki.
#[test]
fn nothing_but_tasuki_carries_messages() {
    let test = "nothing_but_tasuki_carries_messages";
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let lab = TestLab::up("tasuki-only", &["--shape", "full:2"]);
    for mpi in mpis(test) {
        let hello = build(&mpi, "hello.c", folder.path());
        let mut run = run_over("tasuki", &lab, mpi.name, 2, &hello);
        let output = bounded(run.env("TASUKI_SHM", "nonsense"));
        assert!(!output.status.success(), "{}: something else carried them: {}", mpi.name, text(&output));
        assert_ne!(output.status.code(), Some(124), "{} hangs: {}", mpi.name, text(&output));
        let output = bounded(run_over("tcp", &lab, mpi.name, 2, &hello).env("TASUKI_SHM", "nonsense"));
        assert!(output.status.success(), "{} over TCP: {}", mpi.name, text(&output));
    }
}

/// The provider as it is built, with the library that is loaded before the system's libfabric.
fn provider_with_front(folder: &Path) {
    let built = Path::new(env!("CARGO_BIN_EXE_tasuki")).with_file_name("libtasuki_fi.so");
    std::fs::copy(&built, folder.join("libtasuki-fi.so")).expect("the provider is built");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasuki-ofi/front/build");
    let status = Command::new(script).arg(folder.join("libfabric")).status().expect("the script runs");
    assert!(status.success(), "cc compiles it: see scripts/setup");
}

/// Processes of a job that have loaded this library, by the dynamic loader's log (ld.so(8), LD_DEBUG).
fn that_loaded(library: &str, folder: &Path) -> Vec<String> {
    let told = std::fs::read_dir(folder).expect("a folder").flatten().map(|file| {
        String::from_utf8_lossy(&std::fs::read(file.path()).expect("a file of the loader's")).into_owned()
    });
    told.filter(|told| told.contains(&format!("/{library}"))).collect()
}

// Debian's libfabric is linked with libpsm2 and libpsm_infinipath, which take 0.2 s to load, and reads
// /proc/kallsyms twice.
#[test]
fn debians_open_mpi_starts_without_the_systems_libfabric() {
    let test = "debians_open_mpi_starts_without_the_systems_libfabric";
    if skip_without_root(test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    provider_with_front(folder.path());
    let lab = TestLab::up("front", &["--shape", "planes:2x2"]);
    let Some(mpi) = mpis(test).into_iter().find(|mpi| mpi.name == "openmpi-4.1") else { return };
    let alltoall = build(&mpi, "alltoall.c", folder.path());
    for (front, name) in [("1", "in-front"), ("0", "system")] {
        let told = folder.path().join(name);
        std::fs::create_dir(&told).expect("a folder");
        let mut run = run_over("tasuki", &lab, mpi.name, 2, &alltoall);
        run.env("TASUKI_PROVIDER", folder.path()).env("TASUKI_LIBFABRIC", front);
        let argv: Vec<_> = run.get_args().map(ToOwned::to_owned).collect();
        let mut traced = Command::new(run.get_program());
        traced.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        traced.args(&argv[..argv.len() - 1]).args(["-x", "LD_DEBUG=files", "-x"]);
        traced.arg(format!("LD_DEBUG_OUTPUT={}", told.join("told").display())).arg(&argv[argv.len() - 1]);
        says("alltoall", "alltoall ok", &traced);
        let ranks = that_loaded("libtasuki-fi.so", &told);
        assert_eq!(ranks.len(), 2, "{name}: both ranks load the provider");
        let slow = ["libpsm2.so.2", "libpsm_infinipath.so.1", "librdmacm.so.1"]
            .map(|slow| that_loaded(slow, &told).len());
        assert_eq!(slow, if front == "1" { [0; 3] } else { [2; 3] }, "{name}");
    }
}
