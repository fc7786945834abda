//! Builds the programs from sources that are part of this crate, with the compiler wrapper of any MPI.

use super::Kernel;
use crate::once::{FileError, Recipe};
use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use tasuki_process::run_limited;
use thiserror::Error;

macro_rules! sources {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../../../bench/nas/", $name)))),*] };
}

/// The files of all kernels; the build script selects those of one kernel.
const SOURCES: &[(&str, &str)] = sources![
    "build.sh",
    "common/damage.c",
    "common/digest.c",
    "common/main.c",
    "common/nas.h",
    "common/profile.c",
    "common/profile.h",
    "common/trace.c",
    "cg-matrix.c",
    "cg.c",
    "cg.h",
    "ep.c",
    "ft-transform.c",
    "ft.c",
    "ft.h",
    "himeno-halo.c",
    "himeno.c",
    "himeno.h",
    "is.c",
    "lu-halo.c",
    "lu-problem.c",
    "lu-rhs.c",
    "lu-sweep.c",
    "lu.c",
    "lu.h",
    "mg-charges.c",
    "mg-halo.c",
    "mg-stencil.c",
    "mg.c",
    "mg.h",
];

/// Limit of the time for a build. It ends a compiler that hangs, and is long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(900);

/// Why a program could not be built.
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
    /// The shell that runs the build script could not be started.
    #[error("sh: {0}")]
    NoShell(io::Error),
    /// There is no such compiler wrapper.
    #[error("{0}: not found (the MPI's compiler wrapper; Debian has Open MPI's in libopenmpi-dev)")]
    NoCompiler(PathBuf),
    /// The compiler refused the program.
    #[error("{compiler} cannot build {kernel}: {reason}\n{stderr}")]
    Refused {
        /// The compiler wrapper.
        compiler: PathBuf,
        /// The program.
        kernel: Kernel,
        /// Exit code or time limit.
        reason: String,
        /// Standard error of the compiler.
        stderr: String,
    },
}

/// Builds a kernel's program with an `mpicc` into `target`, for the processor of this machine, unless
/// `target` has been built from this source by that compiler. Two builds at once into the same file do not
/// disturb each other.
pub fn build(kernel: Kernel, mpicc: &Path, target: &Path) -> Result<(), BuildError> {
    let processor = crate::Machine::here().cpu;
    let recipe = Recipe { sources: SOURCES, circumstances: &processor, product: kernel.program() };
    recipe.build(mpicc, target, |folder| compile(kernel, mpicc, folder))
}

impl From<FileError> for BuildError {
    fn from(FileError { path, source }: FileError) -> Self {
        BuildError::File { path, source }
    }
}

/// A path of the compiler that is valid in another folder; a bare name stays, as it is looked up in PATH.
fn from_elsewhere(mpicc: &Path) -> PathBuf {
    if mpicc.components().count() < 2 {
        return mpicc.into();
    }
    std::path::absolute(mpicc).unwrap_or_else(|_| mpicc.into())
}

/// Exit code of a shell that has not found a command.
const NOT_FOUND: i32 = 127;

fn compile(kernel: Kernel, mpicc: &Path, folder: &Path) -> Result<(), BuildError> {
    let mut command = Command::new("sh");
    command
        .arg("build.sh")
        .arg(from_elsewhere(mpicc))
        .args([".", kernel.program()])
        .current_dir(folder)
        .env_remove("CFLAGS");
    let output = run_limited(&mut command, LIMIT).map_err(BuildError::NoShell)?;
    if output.is_success() {
        return Ok(());
    }
    if output.code == Some(NOT_FOUND) {
        return Err(BuildError::NoCompiler(mpicc.into()));
    }
    let (reason, stderr) = (output.reason(), output.stderr);
    Err(BuildError::Refused { compiler: mpicc.into(), kernel, reason, stderr })
}
