//! Why a fleet cannot be used at all.

use tasuki_cluster::ClusterErrors;
use tasuki_lab::LabError;
use thiserror::Error;

/// Why a fleet cannot be used at all. What goes wrong on one host is a [`crate::HostError`].
#[derive(Debug, Error)]
pub enum FleetError {
    /// The lab is not up, or does not answer.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The cluster file is wrong.
    #[error(transparent)]
    Cluster(#[from] ClusterErrors),
}
