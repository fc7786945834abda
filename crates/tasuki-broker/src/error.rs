//! Why the broker cannot serve.

use std::{io, path::PathBuf};

/// Why the broker cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another broker listens at this path.
    #[error("a broker listens on {} already; stop it (systemctl stop tasuki-broker.socket tasuki-broker) or \
             use --socket", .0.display())]
    Taken(PathBuf),
    /// The socket cannot be made.
    #[error("cannot {what} {}: {source}", path.display())]
    Socket {
        /// What was tried.
        what: &'static str,
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// systemd handed over something else than one listening socket.
    #[error("what systemd handed over is {0}: the unit needs one ListenSequentialPacket=")]
    Handed(&'static str),
    /// The process cannot wait for its clients.
    #[error("cannot wait for clients: {0}")]
    Wait(#[from] io::Error),
}
