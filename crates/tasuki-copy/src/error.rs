//! Why files cannot be sent to hosts.

use std::{io, path::PathBuf};
use tasuki_cluster::PlanError;
use tasuki_launch::DetectError;
use thiserror::Error;

/// Why files cannot be sent to hosts.
#[derive(Debug, Error)]
pub enum CopyError {
    /// The fleet is this machine alone.
    #[error("--copy sends files to the hosts of a lab or of a cluster file, and there is none")]
    NoCluster,
    /// The cluster has no plan of addresses, so that hosts cannot pass anything on.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A file of this machine cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not the one that was looked at, or was written while it was sent.
    #[error("{} has changed while it was being sent; start again when it is written", .0.display())]
    Changed(PathBuf),
    /// A pipe or a device has no contents that could be sent.
    #[error("{} is no file: a pipe or a device cannot be sent", .0.display())]
    NoFile(PathBuf),
    /// A path cannot be told to hosts.
    #[error("{} cannot be sent: its path is not UTF-8; give it another name", .0.display())]
    NotText(PathBuf),
    /// Two files would have the same place on hosts.
    #[error(
        "{} and {} would both be {name} on hosts: name one of them from another folder", first.display(),
        second.display()
    )]
    SamePlace {
        /// The one.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// The place of both, below the job's folder.
        name: String,
    },
    /// The program's libraries cannot be found.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// The kernel gives no random numbers.
    #[error("the kernel gives no random numbers for the name of the job's folder: {0}")]
    Random(#[from] getrandom::Error),
    /// The MPI is missing on hosts.
    #[error(
        "{hosts} {} not have {}, the program's MPI: install the same MPI there, at the same place; --copy \
         sends programs, not MPIs", if hosts.contains(',') { "do" } else { "does" }, library.display()
    )]
    NoMpi {
        /// The hosts, with commas between them.
        hosts: String,
        /// The MPI's library.
        library: PathBuf,
    },
    /// Tasuki's library for OpenMP programs is missing on hosts.
    #[error(
        "{hosts} {} not have {}, which runs OpenMP programs: install the same Tasuki there, at the same \
         place; --copy sends programs", if hosts.contains(',') { "do" } else { "does" }, library.display()
    )]
    NoOpenMp {
        /// The hosts, with commas between them.
        hosts: String,
        /// The library.
        library: PathBuf,
    },
    /// Hosts could not do it; the text names each with the cause and what helps.
    #[error("{0}")]
    Hosts(String),
}
