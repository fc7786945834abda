//! The reader.

use std::io;
use std::path::{Path, PathBuf};

use super::Snapshot;

/// Why a page could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Opening or mapping failed.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file does not hold a page of this version.
    #[error("{path} is no statistics page of this version: {what}", path = path.display())]
    Layout {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
}

/// A page opened for reading.
pub struct Reader {}

impl Reader {
    /// Opens the page at `path`.
    pub fn open(path: &Path) -> Result<Reader, ReadError> {
        let _ = path;
        todo!()
    }

    /// Everything on it, each record consistent in itself.
    pub fn snapshot(&self) -> Snapshot {
        todo!()
    }

    /// Whether the writer's process is gone.
    pub fn is_stale(&self) -> bool {
        todo!()
    }
}

/// The pages in `/dev/shm`, sorted by name, stale ones too.
pub fn list() -> Vec<PathBuf> {
    todo!()
}
