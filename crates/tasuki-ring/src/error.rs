//! What can go wrong with shared memory, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why an own segment or statistics page could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// Shared memory is full. Nothing was left behind.
    #[error(
        "{path}: no room for {bytes} bytes of shared memory; free some, or enlarge it \
         (`mount -o remount,size=... /dev/shm`)",
        path = path.display()
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// What was needed, in bytes.
        bytes: u64,
    },
    /// A file of this name exists and its owner lives: the token is not unique.
    #[error("{path} exists and its owner lives; tokens must be unique", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The sizes asked for are outside what the layout can hold.
    #[error("{what} is {value}, must be {low} to {high}")]
    Size {
        /// Which option.
        what: &'static str,
        /// What was asked for.
        value: usize,
        /// Smallest value allowed.
        low: usize,
        /// Largest value allowed.
        high: usize,
    },
    /// A system call failed.
    #[error("{path}: {call} failed: {source}", path = path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The system call.
        call: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Why a peer's segment could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such segment here: the peer is on another host (or container, or of another user), or is
    /// gone.
    #[error(
        "{path} is not here: the peer is on another host, or another user's, or gone",
        path = path.display()
    )]
    NotHere {
        /// The file.
        path: PathBuf,
    },
    /// The segment is here and its owner is not alive.
    #[error("the owner of {path} is gone", path = path.display())]
    Dead {
        /// The file.
        path: PathBuf,
    },
    /// All slots are taken.
    #[error("{path}: all {slots} slots are taken", path = path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// How many there are.
        slots: usize,
    },
    /// Shared memory is full.
    #[error(
        "{path}: no room for a ring of {bytes} bytes; free some shared memory or enlarge it",
        path = path.display()
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// Size of the ring, in bytes.
        bytes: u64,
    },
    /// The file does not hold what a segment of this version holds.
    #[error("{path} is no segment of this version: {what}", path = path.display())]
    Layout {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// A system call failed.
    #[error("{path}: {call} failed: {source}", path = path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The system call.
        call: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}
