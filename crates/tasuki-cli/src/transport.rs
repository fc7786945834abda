//! What carries a job's messages: Tasuki where it can, TCP elsewhere.

use crate::failure::Failure;
use clap::ValueEnum;
use std::{ffi::OsStr, path::PathBuf};
use tasuki_lab::JOB_VARIABLE;
use tasuki_launch::{Environment, Mpi, Provider, Transport};

/// What the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wanted {
    /// Tasuki: shared memory within a host, all rails between hosts
    Tasuki,
    /// The MPI's own TCP over the identity addresses
    Tcp,
    /// libfabric's own shared memory, to compare with: MPICH and Intel MPI, ranks on one host
    Shm,
}

/// The provider that belongs to this program, or to TASUKI_PROVIDER.
pub fn provider() -> Result<Provider, Failure> {
    let chosen = std::env::var_os("TASUKI_PROVIDER").map(PathBuf::from);
    Ok(Provider::find(&std::env::current_exe()?, chosen.as_deref())?)
}

/// The transport for an MPI. Without a wish it is Tasuki if the MPI can load it, else TCP and a line that says why.
pub fn choose(wanted: Option<Wanted>, mpi: &Mpi) -> Result<Transport, Failure> {
    match wanted {
        Some(Wanted::Tcp) => Ok(Transport::Tcp),
        Some(Wanted::Tasuki) => tasuki(mpi),
        Some(Wanted::Shm) => Ok(Transport::Shm),
        None => Ok(tasuki(mpi).unwrap_or_else(|failure| {
            eprintln!("tasuki: over TCP: {}", failure.message);
            Transport::Tcp
        })),
    }
}

fn tasuki(mpi: &Mpi) -> Result<Transport, Failure> {
    mpi.check_libfabric()?;
    Ok(Transport::Tasuki(provider()?))
}

/// Variables of this process that steer Tasuki inside the ranks, and libfabric's log: ranks get them without being
/// named with -x.
pub fn passed_on() -> Environment {
    std::env::vars_os().filter(|(name, _)| is_passed_on(name)).collect()
}

fn is_passed_on(name: &OsStr) -> bool {
    // These are this program's own and the test suites'; an identity is another on every host.
    const OURS: [&str; 7] = [
        JOB_VARIABLE,
        "TASUKI_IDENTITY",
        "TASUKI_PEERS",
        "TASUKI_PROVIDER",
        "TASUKI_NO_SKIP",
        "TASUKI_SEED",
        "TASUKI_TEST_MARK",
    ];
    let name = name.to_string_lossy();
    (name.starts_with("TASUKI_") || name.starts_with("FI_LOG_")) && !OURS.contains(&&*name)
}

/// Paths that a transport needs to be visible on every host.
pub fn paths(transport: &Transport) -> Vec<PathBuf> {
    match transport {
        Transport::Tcp | Transport::Shm => Vec::new(),
        Transport::Tasuki(provider) => vec![provider.folder.clone(), provider.library.clone()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_the_transport_reaches_ranks_and_what_steers_this_program_does_not() {
        let passes = |name: &str| is_passed_on(OsStr::new(name));
        assert!(passes("TASUKI_RAILS") && passes("TASUKI_SHM") && passes("FI_LOG_LEVEL"));
        for own in ["TASUKI_PEERS", "TASUKI_NO_SKIP", JOB_VARIABLE, "FI_PROVIDER", "PATH"] {
            assert!(!passes(own), "{own}");
        }
    }
}
