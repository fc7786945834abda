//! What hosts are told, and what they answer.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a host is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Say what its kernel does, as a [`crate::kernel::Kernel`].
    Look,
    /// Send the core files of a job: for each an [`Item`], see [`crate::receive`].
    Give(Search),
    /// Remove these files, which have been received.
    Remove(Vec<PathBuf>),
}

/// Which core files are looked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Search {
    /// The variable that all processes of the job have, with its value.
    pub mark: (String, String),
    /// The folder in which ranks began.
    pub folder: PathBuf,
    /// How long ago the job began, in seconds.
    pub age: u64,
    /// Whether the job failed, so that core files that are still being stored are waited for.
    pub failed: bool,
}

/// What a host sends: something to tell, or a core file, whose bytes follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Item {
    /// A sentence for people.
    Note(String),
    /// A core file.
    Core(Found),
}

/// A core file of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    /// The file that is removed once it has been received; `None`: the host's catalogue keeps it.
    pub path: Option<PathBuf>,
    /// Its length in bytes.
    pub bytes: u64,
    /// The rank in MPI_COMM_WORLD, if the launcher has told it.
    pub rank: Option<u32>,
    /// The process, by the number that it had for itself.
    pub process: Option<u32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The path by which the program was started.
    pub program: Option<String>,
    /// Whether a part of it is missing.
    pub is_cut: bool,
}
