//! Why a measurement was not made.

use crate::{PlanError, nas, plot::PlotError, program};
use std::io;
use tasuki_cluster::generate::GenerateError;
use tasuki_launch::{DetectError, JobError, ProviderError};
use tasuki_stripe::StripeError;
use tasuki_sys::{ethtool::EthtoolError, netlink::NetlinkError};
use tasuki_tune::BadLengths;
use tasuki_tuned::TunerError;
use thiserror::Error;

/// Why a measurement was not made.
#[derive(Debug, Error)]
pub enum BenchError {
    /// What was asked for cannot be measured, or the machine does not allow it; the text says why.
    #[error("{0}")]
    Refused(String),
    /// The user ended it before there was any figure; the text says so.
    #[error("{0}")]
    Interrupted(&'static str),
    /// The operating system refused something.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The operating system refused something.
    #[error(transparent)]
    System(#[from] nix::Error),
    /// Not the JSON that one process gives another.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The plan of a measurement does not hold.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is no such cluster.
    #[error(transparent)]
    Shape(#[from] GenerateError),
    /// The addresses do not suffice for the cluster.
    #[error(transparent)]
    Addresses(#[from] tasuki_cluster::PlanError),
    /// A program's MPI was not found.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// An MPI cannot start such a job.
    #[error(transparent)]
    Job(#[from] JobError),
    /// There is no provider.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// A program could not be built.
    #[error(transparent)]
    Build(#[from] program::BuildError),
    /// A kernel could not be built.
    #[error(transparent)]
    BuildKernel(#[from] nas::BuildError),
    /// A plot could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// The kernel refused to set an interface up.
    #[error(transparent)]
    Netlink(#[from] NetlinkError),
    /// A NIC's driver refused a setting.
    #[error(transparent)]
    Ethtool(#[from] EthtoolError),
    /// The striping program could not be loaded.
    #[error(transparent)]
    Stripe(#[from] StripeError),
    /// These are no delays to choose from.
    #[error(transparent)]
    Lengths(#[from] BadLengths),
    /// The host could not be sampled.
    #[error(transparent)]
    Tuner(#[from] TunerError),
}

impl BenchError {
    /// A [`BenchError::Refused`].
    pub fn refused(why: impl ToString) -> Self {
        Self::Refused(why.to_string())
    }
}
