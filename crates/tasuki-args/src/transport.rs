//! The transport of a command's arguments.

use clap::ValueEnum;
use std::path::Path;
use tasuki_job::Choice;
use tasuki_launch::{Mpi, Transport};
use tasuki_terminal::Failure;

/// The transport that the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wanted {
    /// Tasuki: shared memory within a host, all rails between hosts
    Tasuki,
    /// The MPI's own TCP over the identity addresses
    Tcp,
    /// libfabric's own shared memory, to compare with: MPICH and Intel MPI, ranks on one host
    Shm,
}

impl From<Wanted> for tasuki_job::Wanted {
    fn from(wanted: Wanted) -> Self {
        match wanted {
            Wanted::Tasuki => Self::Tasuki,
            Wanted::Tcp => Self::Tcp,
            Wanted::Shm => Self::Shm,
        }
    }
}

/// Chooses the transport for an MPI, and prints why it is TCP if that was not asked for.
pub fn choose(wanted: Option<Wanted>, mpi: &Mpi) -> Result<Transport, Failure> {
    choose_from(wanted, mpi, None)
}

/// [`choose`], with the provider in a folder if one is named.
pub fn choose_from(wanted: Option<Wanted>, mpi: &Mpi, provider: Option<&Path>) -> Result<Transport, Failure> {
    let Choice { transport, note } = tasuki_job::choose_from(wanted.map(Into::into), mpi, provider)?;
    if let Some(note) = note {
        eprintln!("tasuki: {note}");
    }
    Ok(transport)
}
