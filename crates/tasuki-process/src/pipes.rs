//! What a write to a reader that has gone does to this process.

use nix::sys::signal::{SigHandler, Signal, signal};
use std::io;

/// From here on a write to a pipe or socket whose reader has gone fails with an error, and SIGPIPE does not
/// end this process: for one that has to go on, or to take back what it did. Programs that are started by
/// [`std::process::Command`] have the default action.
///
/// # Errors
/// What the system says, signal(2).
pub fn ignore_broken_pipes() -> io::Result<()> {
    // SAFETY: ignoring a signal installs no handler.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigIgn) }?;
    Ok(())
}
