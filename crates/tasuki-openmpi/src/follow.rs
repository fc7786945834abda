//! Every other host: the parent of Open MPI's daemon.

use crate::{error::OpenMpiError, host, pmi::Pmi, spread};
use std::{ffi::OsString, os::unix::ffi::OsStringExt, process::Stdio, thread, time::Duration};

/// How long `mpirun` has to notice that a daemon has failed, and to end with a code that says more.
const NOTICE: Duration = Duration::from_secs(5);
/// Exit codes of a shell that could not run a program: nobody else will tell `mpirun`.
const NOT_RUN: [u8; 2] = [126, 127];

/// Waits for the command of the daemon, runs it, and gives its exit code. Without a command there is nothing
/// to do here.
pub fn follow(place: usize) -> Result<u8, OpenMpiError> {
    let mut pmi = Pmi::begin()?;
    pmi.fence()?;
    let command = spread::get(&mut pmi, place)?;
    pmi.finalize()?;
    let Some(command) = command else { return Ok(0) };
    let shell = OsString::from("/bin/sh");
    let mut daemon = host::command(&shell);
    daemon.arg("-c").arg(OsString::from_vec(command)).stdin(Stdio::null());
    let status = daemon.status().map_err(|source| OpenMpiError::Start { program: shell.into(), source })?;
    let code = host::code(status);
    if code != 0 && !NOT_RUN.contains(&code) {
        thread::sleep(NOTICE);
    }
    Ok(code)
}
