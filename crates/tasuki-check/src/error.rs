//! What keeps a check from being made at all.

use std::{io, path::PathBuf};
use tasuki_bench::hpcc::HpccError;
use tasuki_cluster::PlanError;
use thiserror::Error;

/// What keeps a check from being made at all. What keeps one host from being checked is a finding.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The fleet is this machine alone.
    #[error("name a cluster file or a --lab")]
    NoCluster,
    /// The cluster has no plan of addresses.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The folder that should hold NAS kernels holds none.
    #[error(
        "{0} has none of the NAS kernels is, cg, ft, mg, lu, ep; build them on every host: \
         bench/nas/build.sh mpicc {0}, in the folder of Tasuki's sources",
        folder.display()
    )]
    NoKernels {
        /// The folder.
        folder: PathBuf,
    },
    /// HPCC cannot be given a problem.
    #[error(transparent)]
    Hpcc(#[from] HpccError),
    /// A system call failed.
    #[error(transparent)]
    System(#[from] io::Error),
}
