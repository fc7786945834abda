//! Why nothing could be sent to any host.

use std::{io, path::PathBuf};
use tasuki_launch::ProviderError;
use thiserror::Error;

/// Why nothing could be sent to any host. What goes wrong on one host is in its [`crate::HostReport`].
#[derive(Debug, Error)]
pub enum InstallError {
    /// A part of what hosts get is not there.
    #[error("there is no {}; build it: make build", .0.display())]
    Missing(PathBuf),
    /// The provider is not there.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// What hosts get could not be packed.
    #[error("cannot pack what hosts get: {0}")]
    Pack(String),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
