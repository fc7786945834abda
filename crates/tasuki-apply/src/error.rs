//! Why a host cannot be set up, restored or asked.

use std::io;
use tasuki_cluster::PlanError;
use tasuki_host::DaemonError;
use tasuki_watch::WatchError;
use thiserror::Error;

/// Why a host cannot be set up, restored or asked.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The cluster has no plan of addresses.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The host could not be read or changed.
    #[error(transparent)]
    Host(#[from] tasuki_host::HostError),
    /// A change was refused although all looked well.
    #[error("{0}\nWhat was changed until then is written down; `tasuki undo` takes it back")]
    Unfinished(tasuki_host::HostError),
    /// `tasuki watch` or `tasuki tune run` could not be asked or ended.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// `tasuki watch` does not start.
    #[error("the host is set up, but `tasuki watch` does not start: {0} (--no-watch does without)")]
    WatchStart(DaemonError),
    /// `tasuki tune run` does not start.
    #[error("the host is set up, but `tasuki tune run` does not start: {0}")]
    TunerStart(DaemonError),
    /// The resident runtime does not end.
    #[error(transparent)]
    Runtime(#[from] tasuki_runtime::RuntimeError),
    /// The cluster has no such host.
    #[error(
        "the cluster has no host {name}; it has {}. Say with --host which of them this machine is",
        .hosts.join(", ")
    )]
    NoHost {
        /// The name asked for.
        name: String,
        /// Hosts of the cluster.
        hosts: Vec<String>,
    },
    /// A system call failed.
    #[error(transparent)]
    System(#[from] io::Error),
}
