//! Why a job of ranks cannot be run.

use std::io;
use tasuki_job::RunError;
use thiserror::Error;

/// Why a job of ranks cannot be run.
#[derive(Debug, Error)]
pub enum RanksError {
    /// There cannot be such a job on these hosts.
    #[error(transparent)]
    Job(#[from] RunError),
    /// Hosts could not be reached; the text names each with the reason.
    #[error("{0}")]
    Hosts(String),
    /// A system call failed.
    #[error(transparent)]
    System(#[from] io::Error),
}
