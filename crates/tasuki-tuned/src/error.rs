//! Why the delay of a host's NICs cannot follow its load.

use std::{io, path::PathBuf};
use tasuki_host::HostError;
use tasuki_watch::WatchError;
use thiserror::Error;

/// Why the delay of a host's NICs cannot be set by load, or a driver not be loaded again.
#[derive(Debug, Error)]
pub enum TunerError {
    /// The process is not root's.
    #[error("setting interrupt delays needs root; run it with sudo")]
    NotRoot,
    /// NICs cannot be taken out of the bundle, because nobody would tell the striping program.
    #[error("--bundle needs `tasuki watch`, which `tasuki apply` starts: it tells the striping program")]
    NoWatch,
    /// It is not known how fast the NICs of the bundle are.
    #[error("--bundle needs the NICs' rates, and not all of them are in {table}")]
    NoRates {
        /// The file that would say.
        table: &'static str,
    },
    /// The log could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Unloading a driver would take an address away.
    #[error(
        "{interface} has an IPv4 address, which would go if {driver} were unloaded: take it away first \
         (`tasuki undo`, and `tasuki apply` afterwards), or leave --reload out and restart the machine"
    )]
    HasAddress {
        /// The NIC.
        interface: String,
        /// Its driver.
        driver: String,
    },
    /// A NIC is gone after its driver was loaded again.
    #[error("{driver} was loaded again, but {interface} does not come back")]
    Lost {
        /// The NIC.
        interface: String,
        /// Its driver.
        driver: String,
    },
    /// `modprobe` could not be started.
    #[error("modprobe: {0} (apt-get install kmod)")]
    NoModprobe(io::Error),
    /// `modprobe` did not do what it was asked to.
    #[error("modprobe {words}: {said}")]
    Modprobe {
        /// Its arguments.
        words: String,
        /// What it said.
        said: String,
    },
    /// The kernel does not say which addresses there are.
    #[error(transparent)]
    Addresses(#[from] nix::Error),
    /// The host's NICs could not be set, or not be given back what they had.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The daemon's note could not be written, or another daemon runs.
    #[error(transparent)]
    Note(#[from] WatchError),
    /// Something could not be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}
