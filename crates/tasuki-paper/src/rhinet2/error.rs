//! Errors of the evaluation.

use tasuki_sim::fabric::FabricError;
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
}
