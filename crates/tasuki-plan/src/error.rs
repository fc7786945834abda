//! Errors of planning.

use std::{io, path::PathBuf};
use tasuki_cluster::{ClusterErrors, generate::GenerateError};
use tasuki_sim::fabric::{FabricError, trace::TraceError};
use tasuki_topo::{NetworkError, PathError, RouteError, bounds::PatternError};
use thiserror::Error;

/// Why a cabling cannot be planned, measured or simulated.
#[derive(Debug, Error)]
pub enum PlanningError {
    /// The request is not possible. The text says why, and what would be possible.
    #[error("{0}")]
    Request(String),
    /// A file does not hold what it should.
    #[error("{}: {why}", path.display())]
    Contents {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file or folder could not be read, made or written.
    #[error("cannot {verb} {}: {source}", path.display())]
    File {
        /// What failed: `read`, `make` or `write`.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The cluster file has errors.
    #[error(transparent)]
    Cluster(#[from] ClusterErrors),
    /// The addresses do not suffice for the cluster.
    #[error(transparent)]
    Addresses(#[from] tasuki_cluster::PlanError),
    /// There is no cluster of this shape.
    #[error(transparent)]
    Shape(#[from] GenerateError),
    /// The parts make no network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// An engine cannot route the network.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// Tables do not lead from one host to another.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The network's switches have no such traffic pattern.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The network cannot be simulated like this.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// The trace cannot be replayed.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The file of the trace.
        path: PathBuf,
        /// The error.
        source: TraceError,
    },
    /// The kernel does not say how much processor time was used.
    #[error(transparent)]
    ProcessorTime(#[from] nix::Error),
    /// Something could not be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl PlanningError {
    /// A [`PlanningError::Request`].
    pub(crate) fn request(why: impl Into<String>) -> Self {
        Self::Request(why.into())
    }
}
