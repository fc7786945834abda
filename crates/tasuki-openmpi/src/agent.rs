//! What `mpirun` calls in the place of ssh.

use crate::{door, error::OpenMpiError};
use std::{ffi::OsString, path::PathBuf};

/// Called as `HOST COMMAND...` on the first host of a job: has the command run by the job's process on that
/// host. Returns the exit code: 0 when the command is on its way, 255, like ssh's, if it never will be.
pub fn agent_main(argv: &[OsString]) -> u8 {
    match bring(argv) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("tasuki: {error}");
            255
        }
    }
}

fn bring(argv: &[OsString]) -> Result<(), OpenMpiError> {
    let path = std::env::var_os(door::VARIABLE).map(PathBuf::from);
    let path = path.ok_or(OpenMpiError::Outside(door::VARIABLE))?;
    let [host, command @ ..] = argv else { return Err(OpenMpiError::Empty) };
    if command.is_empty() {
        return Err(OpenMpiError::Empty);
    }
    door::bring(&path, &host.to_string_lossy(), &door::command(command))
}
