//! The MPIs that tests use, and programs built for them.

use super::{MARK, TestLab, ok, skipped, tasuki};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// An MPI under test: its name for `--mpi`, and the compiler wrapper whose programs it runs.
pub struct Mpi {
    /// The name for `--mpi`.
    pub name: &'static str,
    /// Its compiler wrapper.
    pub mpicc: PathBuf,
}

impl Mpi {
    /// Whether it belongs to Open MPI's family.
    pub fn is_open_mpi(&self) -> bool {
        self.name.starts_with("openmpi")
    }
}

/// The folder of MPIs besides Debian's.
pub fn peers() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    std::env::var_os("TASUKI_PEERS").map_or_else(beside, PathBuf::from)
}

/// CRIU, as scripts/oracles unpacks it.
pub fn criu() -> PathBuf {
    peers().join("criu/criu")
}

/// All five MPIs. Those that are missing are reported; with TASUKI_NO_SKIP (in CI) that is a failure.
pub fn mpis(test: &str) -> Vec<Mpi> {
    let peer = |folder: &str| peers().join(folder).join("bin/mpicc");
    let all = [
        ("openmpi-4.1", PathBuf::from("/usr/bin/mpicc.openmpi")),
        ("openmpi-5.0", peer("openmpi-5.0")),
        ("mpich-4.3", peer("mpich-4.3")),
        ("mpich-5.0", peer("mpich-5.0")),
        // Intel's runtime has no compiler wrapper; it runs programs of MPICH (the MPICH ABI).
        ("intel", peer("mpich-4.3")),
    ];
    let is_there = |(name, mpicc): &(&str, PathBuf)| {
        let there = mpicc.exists() && (*name != "intel" || peers().join("impi-2021").exists());
        if !there {
            skipped(&format!("{test} for {name}"), "not installed (make peers)");
        }
        there
    };
    all.into_iter().filter(is_there).map(|(name, mpicc)| Mpi { name, mpicc }).collect()
}

/// Builds a program of the launcher's tests with an MPI's compiler.
pub fn build(mpi: &Mpi, program: &str, folder: &Path) -> PathBuf {
    build_with(&["-O2"], mpi, program, folder)
}

/// Like [`build`], so that debuggers find every function and line.
pub fn build_for_debuggers(mpi: &Mpi, program: &str, folder: &Path) -> PathBuf {
    build_with(&["-O0", "-g", "-pthread"], mpi, program, folder)
}

fn build_with(options: &[&str], mpi: &Mpi, program: &str, folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tasuki-launch/tests/programs").join(program);
    let name = Path::new(program).file_stem().expect("a program has a name").to_string_lossy();
    let target = folder.join(format!("{name}-{}", mpi.name));
    ok(Command::new(&mpi.mpicc).args(options).arg("-o").arg(&target).arg(source));
    target
}

/// `tasuki run` in a lab over a transport.
pub fn run_over(transport: &str, lab: &TestLab, mpi: &str, ranks: u32, program: &Path) -> Command {
    let mut command = tasuki();
    command.args(["run", "--transport", transport, "--lab", &lab.name, "--mpi", mpi]);
    command.args(["-n", &ranks.to_string()]).arg(program);
    command.env("TASUKI_PEERS", peers()).env(MARK, &lab.name);
    command
}

/// Bytes that the hosts' NICs (not the management interface) have sent.
pub fn sent(lab: &TestLab) -> u64 {
    let status = lab.status();
    let cables = status["cables"].as_array().expect("cables");
    let bytes =
        |cable: &serde_json::Value, side: usize| cable["directions"][side]["bytes"].as_u64().unwrap_or(0);
    cables.iter().map(|cable| bytes(cable, 0) + bytes(cable, 1)).sum()
}
