//! The MPI program, whose source is part of this crate; it is built with the compiler wrapper of each MPI.

use crate::once::{FileError, Recipe};
use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use tasuki_process::{Output, run_limited};
use thiserror::Error;

/// Name of the program.
pub const NAME: &str = "tasuki-mpi-bench";

/// The tests of the program.
pub const TESTS: [&str; 8] =
    ["pingpong", "stream", "away", "barrier", "allreduce", "alltoall", "heat", "halo"];

const SOURCES: [(&str, &str); 7] = [
    ("bench.h", include_str!("../../../bench/mpi/bench.h")),
    ("collectives.c", include_str!("../../../bench/mpi/collectives.c")),
    ("halo.c", include_str!("../../../bench/mpi/halo.c")),
    ("heat.c", include_str!("../../../bench/mpi/heat.c")),
    ("measure.c", include_str!("../../../bench/mpi/measure.c")),
    ("messages.c", include_str!("../../../bench/mpi/messages.c")),
    ("tasuki-mpi-bench.c", include_str!("../../../bench/mpi/tasuki-mpi-bench.c")),
];

const FLAGS: [&str; 4] = ["-std=c11", "-O2", "-Wall", "-Wextra"];
/// Limit of the time for a build.
const LIMIT: Duration = Duration::from_secs(120);

/// Why the program could not be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// A source file could not be written, or the program could not be moved to its place.
    #[error("{path}: {source} (programs are built below XDG_CACHE_HOME, or ~/.cache)")]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The compiler could not be started.
    #[error("{compiler}: {source} (the MPI's compiler wrapper; Debian has Open MPI's in libopenmpi-dev)")]
    NoCompiler {
        /// The compiler wrapper.
        compiler: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The compiler refused the program.
    #[error("{compiler} cannot build {program}: {reason}\n{stderr}")]
    Refused {
        /// The compiler wrapper.
        compiler: PathBuf,
        /// The program.
        program: String,
        /// Exit code or time limit.
        reason: String,
        /// Standard error of the compiler.
        stderr: String,
    },
}

/// Builds the program with an `mpicc` into `target`, unless `target` has been built from this source by that
/// compiler. Two builds at once into the same file do not disturb each other.
pub fn build(mpicc: &Path, target: &Path) -> Result<(), BuildError> {
    let recipe = Recipe { sources: &SOURCES, circumstances: &format!("{FLAGS:?}"), product: NAME };
    recipe.build(mpicc, target, |folder| compile(mpicc, folder, NAME, &SOURCES))
}

impl From<FileError> for BuildError {
    fn from(FileError { path, source }: FileError) -> Self {
        BuildError::File { path, source }
    }
}

/// Compiles a program whose sources lie in `folder`.
pub(crate) fn compile(
    mpicc: &Path,
    folder: &Path,
    name: &str,
    sources: &[(&str, &str)],
) -> Result<(), BuildError> {
    let sources = sources.iter().map(|(name, _)| *name).filter(|name| name.ends_with(".c"));
    let mut command = Command::new(mpicc);
    command.current_dir(folder).args(FLAGS).args(["-o", name]).args(sources).arg("-lm");
    let output = run_limited(&mut command, LIMIT)
        .map_err(|source| BuildError::NoCompiler { compiler: mpicc.into(), source })?;
    if output.is_success() {
        return Ok(());
    }
    let Output { stderr, .. } = &output;
    Err(BuildError::Refused {
        compiler: mpicc.into(),
        program: name.into(),
        reason: output.reason(),
        stderr: stderr.clone(),
    })
}
