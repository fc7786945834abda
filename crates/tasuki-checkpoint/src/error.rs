//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

use crate::group::GroupError;

/// Why a checkpoint was not written or read. Except for [`Error::Group`], every process gets an error when
/// one does, so that all of them can go on together.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder of this process cannot be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was to be done.
        action: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
    /// Another process has the folder with this rank.
    #[error(
        "{} is in use by another process of rank {rank}: end that program, or give this one another folder",
        path.display()
    )]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The rank of both.
        rank: usize,
    },
    /// Others could have put files there, or put some there later.
    #[error(
        "{} belongs to another user, or others may write to it: name a folder that this user alone can write \
         to (chmod 700)",
        path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// The program's own functions have failed, so that processes may not know of each other any more.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// What some process said: its rank and host, and its own error.
    #[error("{0}")]
    Told(String),
    /// The checkpoints are those of a program with another number of processes.
    #[error(
        "{}: the checkpoints there are of {theirs} processes, this program has {ours}: run it with {theirs}, \
         or empty the folder on every host",
        path.display()
    )]
    Size {
        /// The folder of this process.
        path: PathBuf,
        /// Processes of the program that wrote them.
        theirs: u32,
        /// Processes of this one.
        ours: usize,
    },
    /// There are checkpoints, but of none all images are there and intact.
    #[error("no checkpoint is complete, so the program must not begin anew unasked: {0}")]
    Incomplete(String),
    /// A call at a moment at which it cannot be right.
    #[error("{0}")]
    Order(&'static str),
    /// Two pieces of memory have one number.
    #[error("memory {0} is registered twice")]
    Twice(u32),
}

impl Error {
    /// The error of a file, to be used with `map_err`.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { action, path, source }
    }
}
