//! What can go wrong for the owner of a shepherd.

use std::{io, path::PathBuf};
use thiserror::Error;

/// Why a shepherd cannot be started, or is no more.
#[derive(Debug, Error)]
pub enum ShepherdError {
    /// The job cannot be started at all.
    #[error("the job cannot be started: {0}")]
    Spec(String),
    /// The shepherd process cannot be started.
    #[error("cannot start the shepherd {}: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no shepherd at a socket.
    #[error("no shepherd answers at {}: {source}", socket.display())]
    Attach {
        /// The socket.
        socket: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The shepherd ended without saying so: it was killed. What is left of its job is to be swept.
    #[error("the job's shepherd was killed")]
    Gone,
    /// The shepherd said what this program does not understand: it is of another version.
    #[error("the job's shepherd speaks another version's language: {0}")]
    Version(String),
    /// The socket to the shepherd failed.
    #[error("the socket to the job's shepherd: {0}")]
    Socket(#[from] io::Error),
    /// A user is not known here.
    #[error("user {uid}: {why}")]
    User {
        /// The user's id.
        uid: u32,
        /// Why.
        why: String,
    },
}
