//! What can go wrong with the runtime, in words for the user.

use std::{io, path::PathBuf};
use tasuki_control::{FrameError, HelloError};
use thiserror::Error;

/// What went wrong with the runtime.
#[derive(Debug, Error)]
pub enum RuntimeError {
    /// The cluster cannot have a runtime.
    #[error(
        "the cluster {0} has no hosts, or one subnet per cable (`addresses = \"subnets\"`): the runtime \
         needs one network that leads to all hosts"
    )]
    Cluster(String),
    /// Keys cannot be made or used.
    #[error("keys of the runtime: {0}")]
    Keys(String),
    /// A host's name cannot stand in a certificate.
    #[error("{0:?} cannot be a host's name in a certificate")]
    HostName(String),
    /// Text that should be a bundle is none.
    #[error("what was given is no bundle of keys: {0}")]
    Bundle(String),
    /// There is no bundle.
    #[error(
        "{} is not there: `sudo tasuki apply --runtime FILE` makes it and starts the daemons",
        .0.display()
    )]
    NoBundle(PathBuf),
    /// The port is taken.
    #[error("tasukid cannot listen at port {port}: {source}")]
    Listen {
        /// The port.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be used.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// What was attempted.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No daemon runs on this host.
    #[error(
        "no tasukid runs on this host ({}): where it ran, `sudo tasuki daemon --start` starts it again; \
         `sudo tasuki apply --runtime FILE` starts it on all hosts of a cluster, `sudo tasuki lab up \
         --runtime` in a lab", .0.display()
    )]
    NoDaemon(PathBuf),
    /// The daemon is of another version.
    #[error(
        "the tasukid of this host is {daemon}, and this command {own}: where all hosts have one version, \
         `sudo tasuki apply --runtime FILE` starts it; the jobs that run end then, those that wait stay"
    )]
    Version {
        /// The daemon's version.
        daemon: String,
        /// This command's version.
        own: String,
    },
    /// The daemon ended.
    #[error("the tasukid of this host ended")]
    Ended,
    /// The daemon refuses.
    #[error("{0}")]
    Refused(String),
    /// The daemon has no connection to the queue.
    #[error("{0}")]
    Apart(String),
    /// The daemon answers what was not asked.
    #[error("the tasukid of this host answered oddly: {0}")]
    Odd(String),
    /// The other end does not speak as it should.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// What came is no message.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// TLS cannot be set up.
    #[error("keys of the runtime: {0}")]
    Tls(#[from] rustls::Error),
    /// Another process cannot be asked, ended or started.
    #[error(transparent)]
    Instance(#[from] tasuki_watch::WatchError),
    /// A daemon does not start.
    #[error("tasukid does not start: {0}")]
    Start(#[from] tasuki_host::DaemonError),
    /// A system call failed.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl RuntimeError {
    /// An answer of another kind than the question was.
    #[must_use]
    pub fn odd(reply: &tasuki_control::Reply) -> Self {
        Self::Odd(format!("{reply:?}"))
    }

    /// Whether the same may be answered when the daemon of this host, or that of the queue, is there again.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, RuntimeError::NoDaemon(_) | RuntimeError::Ended | RuntimeError::Apart(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // New keys, which `apply --runtime` makes where versions differ, end all jobs (decision 31). Root alone
    // may do that.
    #[test]
    fn who_has_installed_another_version_is_told_what_its_start_costs() {
        let said = RuntimeError::Version { daemon: "1.0".into(), own: "2.0".into() }.to_string();
        let command = said.find("`sudo tasuki apply --runtime FILE`").expect("what to do");
        assert!(said[command..].contains("jobs that run end"), "{said}");
    }
}
