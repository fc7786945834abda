//! The process of a job on one of its hosts.

use crate::{Layout, error::OpenMpiError, follow, lead, pmi};
use std::{
    ffi::OsString,
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus},
};

/// What the runtime tells the process that it starts, and what says nothing to those that this one starts:
/// Open MPI would take itself for a rank of another MPI's launcher.
const OWN: [&str; 6] =
    [pmi::DESCRIPTOR, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", Layout::VARIABLE];

/// Runs the process of a job on this host. `argv`: the command of `mpirun`, without the list of hosts.
/// Returns the exit code: that of `mpirun`, or of the daemon.
pub fn host_main(argv: &[OsString]) -> u8 {
    let place = std::env::var("PMI_RANK").ok().and_then(|rank| rank.parse::<usize>().ok());
    let run = || {
        let layout = Layout::told()?;
        match place.filter(|place| *place < layout.0.len()) {
            Some(0) => lead::lead(&layout, argv),
            Some(place) => follow::follow(place),
            None => Err(OpenMpiError::Outside("PMI_RANK")),
        }
    };
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("tasuki: {error}");
            1
        }
    }
}

/// A command without what is told to this process alone.
pub fn command(program: &OsString) -> Command {
    let mut command = Command::new(program);
    for name in OWN {
        command.env_remove(name);
    }
    command
}

/// The code as a shell reports it: the exit code, or 128 + signal.
pub fn code(status: ExitStatus) -> u8 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
