//! Errors of the evaluation.

use std::{io, path::PathBuf};
use tasuki_sim::fabric::{FabricError, trace::TraceError};
use tasuki_topo::{NetworkError, PathError, RouteError};
use thiserror::Error;

/// Why the evaluation cannot be run.
#[derive(Debug, Error)]
pub enum Rhinet2Error {
    /// A network cannot be built.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A network cannot be routed.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// The tables of a network fail verification.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A network cannot be simulated.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// A trace of a program cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A trace of a program cannot be replayed.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The error.
        source: TraceError,
    },
    /// A folder has no trace of a program that the paper ran.
    #[error("{} has none of {names}; docs/guide/papers.md says how to record them", folder.display())]
    NoTraces {
        /// The folder.
        folder: PathBuf,
        /// The files that it could have.
        names: String,
    },
}
