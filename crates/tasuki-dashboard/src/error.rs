//! What can go wrong before the dashboard runs.

use std::{io, net::SocketAddr, path::PathBuf};

/// Why there is no dashboard.
#[derive(Debug, thiserror::Error)]
pub enum DashboardError {
    /// Everybody on a network could read a drawn token's address over a shoulder, and guess nothing else: an
    /// address that others reach needs a token that was given on purpose.
    #[error(
        "{0} is reached from other machines: give a token with --token-file FILE; or listen at 127.0.0.1 and \
         use ssh -L, which also encrypts"
    )]
    NeedsTokenFile(SocketAddr),
    /// The token's file cannot be used.
    #[error("--token-file {}: {why}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// No random numbers.
    #[error("cannot draw random numbers: {0}")]
    Random(#[from] getrandom::Error),
    /// No thread can be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}
