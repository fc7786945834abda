//! What carries a job's messages: Tasuki where it can, TCP elsewhere.

use crate::RunError;
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};
use tasuki_lab::JOB_VARIABLE;
use tasuki_launch::{Environment, Mpi, Provider, Transport};

/// The transport that the user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Tasuki: shared memory within a host, all rails between hosts.
    Tasuki,
    /// The MPI's own TCP over the identity addresses.
    Tcp,
    /// libfabric's own shared memory, to compare with: MPICH and Intel MPI, ranks on one host.
    Shm,
}

/// The transport that was chosen for an MPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The transport.
    pub transport: Transport,
    /// Why it is TCP although nothing was asked for, if it is.
    pub note: Option<String>,
}

/// The provider that belongs to this program, or the one in the folder that TASUKI_PROVIDER names.
///
/// # Errors
/// If there is none.
pub fn own_provider() -> Result<Provider, RunError> {
    provider_in(None)
}

/// The provider in a folder; `None`: [`own_provider`].
fn provider_in(folder: Option<&Path>) -> Result<Provider, RunError> {
    let named = std::env::var_os("TASUKI_PROVIDER").map(PathBuf::from);
    Ok(Provider::find(&std::env::current_exe()?, folder.or(named.as_deref()))?)
}

/// Chooses the transport for an MPI. If nothing is asked for, it is Tasuki if the MPI can load it, else TCP.
///
/// # Errors
/// If Tasuki is asked for and cannot be had.
pub fn choose(wanted: Option<Wanted>, mpi: &Mpi) -> Result<Choice, RunError> {
    choose_from(wanted, mpi, None)
}

/// [`choose`], with the provider in a folder, where hosts have it. `None`: [`own_provider`].
///
/// # Errors
/// If Tasuki is asked for and cannot be had.
pub fn choose_from(wanted: Option<Wanted>, mpi: &Mpi, folder: Option<&Path>) -> Result<Choice, RunError> {
    let plain = |transport| Choice { transport, note: None };
    match wanted {
        Some(Wanted::Tcp) => Ok(plain(Transport::Tcp)),
        Some(Wanted::Tasuki) => tasuki(mpi, folder).map(plain),
        Some(Wanted::Shm) => Ok(plain(Transport::Shm)),
        None => Ok(match tasuki(mpi, folder) {
            Ok(transport) => plain(transport),
            Err(error) => Choice { transport: Transport::Tcp, note: Some(format!("over TCP: {error}")) },
        }),
    }
}

fn tasuki(mpi: &Mpi, folder: Option<&Path>) -> Result<Transport, RunError> {
    mpi.check_libfabric()?;
    Ok(Transport::Tasuki(provider_in(folder)?))
}

/// Variables of this process that steer Tasuki inside the ranks, and libfabric's log. Ranks get them without
/// being named with -x.
pub(crate) fn passed_on() -> Environment {
    std::env::vars_os().filter(|(name, _)| is_passed_on(name)).collect()
}

fn is_passed_on(name: &OsStr) -> bool {
    // These are for this program and for test suites; and an identity differs from host to host.
    const OWN: [&str; 8] = [
        JOB_VARIABLE,
        "TASUKI_CRIU",
        "TASUKI_IDENTITY",
        "TASUKI_PEERS",
        "TASUKI_PROVIDER",
        "TASUKI_NO_SKIP",
        "TASUKI_SEED",
        "TASUKI_TEST_MARK",
    ];
    let name = name.to_string_lossy();
    let is_ours = name.starts_with("TASUKI_") || name.starts_with("FI_LOG_");
    // Tasuki may set the list of libraries to be loaded first, and the user's are to be loaded too.
    (is_ours && !OWN.contains(&&*name)) || name == "LD_PRELOAD"
}

/// Paths that every host must see for a transport to work.
pub(crate) fn paths(transport: &Transport) -> Vec<PathBuf> {
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
        assert!(passes("LD_PRELOAD"), "it is joined with the library that Tasuki has loaded first");
        for own in ["TASUKI_PEERS", "TASUKI_NO_SKIP", JOB_VARIABLE, "FI_PROVIDER", "PATH"] {
            assert!(!passes(own), "{own}");
        }
    }
}
