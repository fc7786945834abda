//! What keeps a watch from running.

use std::path::PathBuf;
use tasuki_cluster::PlanError;
use tasuki_host::HostError;
use tasuki_sys::packet::PacketError;
use thiserror::Error;

/// Why a watch does not run. Each variant names the host's part, and what to do where that is known.
#[derive(Debug, Error)]
pub enum WatchError {
    /// The cluster has no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A route or setting of this host cannot be read or changed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A NIC gives no packet socket.
    #[error(transparent)]
    Packet(#[from] PacketError),
    /// Only root may change routes and NICs.
    #[error("{name} changes routes and NICs, which needs root; run it with sudo")]
    NotRoot {
        /// The command.
        name: &'static str,
    },
    /// Another process of this kind runs.
    #[error("{host}: another {name} runs already (process {pid}); end it, or `tasuki undo`")]
    Running {
        /// Host name.
        host: String,
        /// The command.
        name: &'static str,
        /// Its process id.
        pid: i32,
    },
    /// The file of the running process cannot be used.
    #[error("cannot {doing} {path}: {source}")]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The system refused another call.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// A running process does not end.
    #[error("{name} (process {pid}) does not end, even when killed")]
    Stuck {
        /// The command.
        name: &'static str,
        /// Its process id.
        pid: i32,
    },
}
