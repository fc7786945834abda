//! Why a job cannot be run.

use std::{io, path::PathBuf};
use tasuki_cluster::PlanError;
use tasuki_fleet::FleetError;
use tasuki_lab::LabError;
use tasuki_launch::{DetectError, JobError, LacksLibfabric, ProviderError};
use thiserror::Error;

/// Why a job cannot be run.
#[derive(Debug, Error)]
pub enum RunError {
    /// The program's MPI was not found.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// Several MPIs could be meant.
    #[error("{choice} may be {}; give more of the version", .ids.join(" or "))]
    Ambiguous {
        /// The choice.
        choice: String,
        /// MPIs that it could mean.
        ids: Vec<String>,
    },
    /// The MPI is not there.
    #[error("{0} is not installed")]
    NotInstalled(String),
    /// The MPI cannot load Tasuki's provider.
    #[error(transparent)]
    LacksLibfabric(#[from] LacksLibfabric),
    /// There is no provider.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The MPI's launcher cannot start such a job.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The hosts cannot be reached at all.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// The lab does not run the job.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The cluster has no plan of addresses.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The cluster's file says `authenticate = true`, and TCP does not.
    #[error(
        "the cluster file says authenticate = true, and messages over TCP are not authenticated: take an MPI \
         and options that use Tasuki (`tasuki doctor`), or set it to false"
    )]
    Unauthenticated,
    /// The kernel gives no random numbers for the key of the job.
    #[error("the kernel gives no random numbers for the key of the job: {0}")]
    Random(#[from] getrandom::Error),
    /// There are no hosts.
    #[error("the lab has no hosts")]
    NoHosts,
    /// The fleet is this machine alone.
    #[error("name a cluster file or a --lab")]
    NoCluster,
    /// The cluster has no network that leads to all hosts.
    #[error(
        "the cluster {0} has one subnet per cable (`addresses = \"subnets\"`), and MPIs want one network \
         that leads to all hosts: leave `addresses` out of the file, or start the MPI by hand"
    )]
    NoCommonNetwork(String),
    /// A variable to be exported has no value.
    #[error("--export {0}: there is no such variable; write {0}=VALUE")]
    NoVariable(String),
    /// The transport is libfabric's shared memory, and the program has no MPI.
    #[error("--transport shm is for MPIs; without one, ranks of a host have what their libraries bring")]
    PlainShm,
    /// Tasuki is asked for, and its plug-in for NCCL is not there.
    #[error("--transport tasuki: there is no {}: {remedy}", file.display())]
    NoPlugin {
        /// Where it would be.
        file: PathBuf,
        /// The command that puts it there.
        remedy: String,
    },
    /// Hosts run another version of Tasuki, or do not answer.
    #[error("{0}")]
    Versions(String),
    /// Hosts are not set up for Tasuki, or by another cluster file; the text names them and the command that
    /// sets them up.
    #[error("{0}")]
    NotSetUp(String),
    /// The program is missing on hosts; the text names them, the path and what helps.
    #[error("{0}")]
    NoProgram(String),
    /// Names of hosts have no address on this machine; the text names each and what helps.
    #[error("{0}")]
    UnknownHosts(String),
    /// The launcher cannot be run.
    #[error("cannot run {}: {source}", program.display())]
    Launcher {
        /// The launcher.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A system call failed.
    #[error(transparent)]
    System(#[from] io::Error),
}
