//! What can go wrong.

use std::{io, path::PathBuf};

/// Why Open MPI's launcher or a daemon of it is not started.
#[derive(Debug, thiserror::Error)]
pub enum OpenMpiError {
    /// A variable that the runtime sets is missing or makes no sense.
    #[error("this command is for the runtime of `tasuki submit`, which sets {0}")]
    Outside(&'static str),
    /// There is no command.
    #[error("there is no command to run")]
    Empty,
    /// The connection to the runtime says something else than PMI-1 does.
    #[error("the runtime's PMI connection says {said:?} where {wanted:?} was to come")]
    Pmi {
        /// What was to come.
        wanted: &'static str,
        /// What came.
        said: String,
    },
    /// A program cannot be started.
    #[error("cannot run {program}: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The path of this program would be split by `mpirun`.
    #[error("{0}: mpirun cannot call an agent whose path holds white space or quotes")]
    Path(PathBuf),
    /// The job has no such host, or goes on without a daemon there.
    #[error("mpirun wants a daemon on {0}, which is no further host of this job, or too late")]
    TooLate(String),
    /// Something of the operating system fails.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

impl OpenMpiError {
    /// For [`Result::map_err`].
    pub fn while_doing<E: Into<io::Error>>(doing: &'static str) -> impl Fn(E) -> Self {
        move |source| OpenMpiError::Io { doing, source: source.into() }
    }
}
