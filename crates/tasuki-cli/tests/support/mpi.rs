//! MPIs under test, the programs that are built for them, and what is to carry their messages.

use super::ok;
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// An MPI under test: what `--mpi` is told, and the compiler wrapper whose programs it runs.
pub struct Mpi {
    /// As `openmpi-4.1`.
    pub name: &'static str,
    mpicc: PathBuf,
}

impl Mpi {
    /// Whether it belongs to Open MPI's family.
    pub fn is_open_mpi(&self) -> bool {
        self.name.starts_with("openmpi")
    }
}

/// The folder with one MPI per entry.
pub fn peers() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    std::env::var_os("TASUKI_PEERS").map_or_else(beside, PathBuf::from)
}

/// Open MPI 4.1 and 5, MPICH 4.3 and 5. Those that are missing are reported, and with TASUKI_NO_SKIP that is a failure.
/// TASUKI_TEST_MPI=mpich-5.0,openmpi-4.1 narrows a run down.
pub fn mpis(test: &str) -> Vec<Mpi> {
    let peer = |folder: &str| peers().join(folder).join("bin/mpicc");
    let all = [
        ("openmpi-4.1", PathBuf::from("/usr/bin/mpicc.openmpi")),
        ("openmpi-5.0", peer("openmpi-5.0")),
        ("mpich-4.3", peer("mpich-4.3")),
        ("mpich-5.0", peer("mpich-5.0")),
    ];
    let is_there = |(name, mpicc): &(&str, PathBuf)| {
        if !mpicc.exists() {
            assert!(std::env::var_os("TASUKI_NO_SKIP").is_none(), "{name} is not installed: make peers");
            eprintln!("SKIPPED {test} for {name}: not installed (make peers)");
        }
        mpicc.exists()
    };
    let wanted = chosen("TASUKI_TEST_MPI");
    let is_wanted = |name: &str| wanted.as_ref().is_none_or(|words| words.iter().any(|word| word == name));
    let there = all.into_iter().filter(|(name, _)| is_wanted(name)).filter(is_there);
    there.map(|(name, mpicc)| Mpi { name, mpicc }).collect()
}

/// What carries the messages: `tasuki`, unless TASUKI_TEST_TRANSPORT=tcp,tasuki names others.
pub fn transports() -> Vec<String> {
    chosen("TASUKI_TEST_TRANSPORT").unwrap_or_else(|| vec!["tasuki".into()])
}

fn chosen(variable: &str) -> Option<Vec<String>> {
    let words = std::env::var(variable).ok()?;
    Some(words.split(',').map(str::to_owned).collect())
}

/// Programs of the tests, built for an MPI when they are asked for.
pub struct Programs(tempfile::TempDir);

impl Programs {
    /// An empty folder for them.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// Builds `tests/programs/NAME.c`.
    pub fn build(&self, name: &str, mpi: &Mpi) -> PathBuf {
        let target = self.0.path().join(format!("{name}-{}", mpi.name));
        if !target.exists() {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
            let mut compiler = Command::new(&mpi.mpicc);
            compiler.args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-o"]).arg(&target).arg(source).arg("-lpthread");
            ok(&mut compiler);
        }
        target
    }
}
