//! The MPI program, its source in this crate: built with the compiler wrapper of each MPI.

use crate::process::{Output, run_limited};
use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use thiserror::Error;

/// Name of the program.
pub const NAME: &str = "tasuki-mpi-bench";

/// The tests it knows.
pub const TESTS: [&str; 6] = ["pingpong", "stream", "barrier", "allreduce", "alltoall", "heat"];

const SOURCES: [(&str, &str); 6] = [
    ("bench.h", include_str!("../../../bench/mpi/bench.h")),
    ("collectives.c", include_str!("../../../bench/mpi/collectives.c")),
    ("heat.c", include_str!("../../../bench/mpi/heat.c")),
    ("measure.c", include_str!("../../../bench/mpi/measure.c")),
    ("messages.c", include_str!("../../../bench/mpi/messages.c")),
    ("tasuki-mpi-bench.c", include_str!("../../../bench/mpi/tasuki-mpi-bench.c")),
];

const FLAGS: [&str; 4] = ["-std=c11", "-O2", "-Wall", "-Wextra"];
const LIMIT: Duration = Duration::from_secs(120);

/// Why the program could not be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// A source file could not be written, or the result not be moved to its place.
    #[error("{path}: {source}")]
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
    #[error("{compiler} cannot build {NAME}: {reason}\n{stderr}")]
    Refused {
        /// The compiler wrapper.
        compiler: PathBuf,
        /// Exit code or time limit.
        reason: String,
        /// What it said.
        stderr: String,
    },
}

/// Builds the program with an `mpicc` into `target`, unless it is there already, built from this source by that
/// compiler. Two builds at once into the same file do not disturb each other.
pub fn build(mpicc: &Path, target: &Path) -> Result<(), BuildError> {
    let stamp = stamp(mpicc);
    let stamp_file = PathBuf::from(format!("{}.built", target.display()));
    if target.is_file() && std::fs::read_to_string(&stamp_file).is_ok_and(|built| built == stamp) {
        return Ok(());
    }
    let parent = target.parent().unwrap_or(Path::new("."));
    let file_error = |path: &Path| {
        let path = path.to_owned();
        move |source| BuildError::File { path, source }
    };
    std::fs::create_dir_all(parent).map_err(file_error(parent))?;
    let folder = tempfile::Builder::new().prefix(".mpi-bench-").tempdir_in(parent);
    let folder = folder.map_err(file_error(parent))?;
    for (name, text) in SOURCES {
        let path = folder.path().join(name);
        std::fs::write(&path, text).map_err(file_error(&path))?;
    }
    compile(mpicc, folder.path())?;
    // Renamed, not written in place: a program that is running must not change.
    std::fs::rename(folder.path().join(NAME), target).map_err(file_error(target))?;
    std::fs::write(&stamp_file, stamp).map_err(file_error(&stamp_file))
}

fn compile(mpicc: &Path, folder: &Path) -> Result<(), BuildError> {
    let sources = SOURCES.iter().map(|(name, _)| *name).filter(|name| name.ends_with(".c"));
    let mut command = Command::new(mpicc);
    command.current_dir(folder).args(FLAGS).args(["-o", NAME]).args(sources).arg("-lm");
    let output = run_limited(&mut command, LIMIT)
        .map_err(|source| BuildError::NoCompiler { compiler: mpicc.into(), source })?;
    if output.is_success() {
        return Ok(());
    }
    let Output { stderr, .. } = &output;
    Err(BuildError::Refused { compiler: mpicc.into(), reason: output.reason(), stderr: stderr.clone() })
}

/// Changes whenever the program would be another one: compiler (path, size, time), flags, source.
fn stamp(mpicc: &Path) -> String {
    let facts = std::fs::metadata(mpicc).ok();
    let facts = facts.map(|facts| (facts.len(), facts.modified().ok()));
    let mut text = format!("{} {facts:?} {FLAGS:?}\n", mpicc.display());
    for (name, source) in SOURCES {
        text += &format!("{name}\n{source}");
    }
    text
}
