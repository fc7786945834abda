//! What a write to a reader that has gone does to this process.

use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal};
use std::{
    io::{self, Write},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd},
    process::ChildStdin,
};

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

/// The standard input of a child. A write to one that has ended is an error, whatever SIGPIPE does to this
/// process elsewhere: a command that ends quietly when the reader of its own output has gone still has to say
/// that a child has ended.
#[derive(Debug)]
pub struct ChildInput(ChildStdin);

impl From<ChildStdin> for ChildInput {
    fn from(input: ChildStdin) -> Self {
        Self(input)
    }
}

impl AsFd for ChildInput {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Write for ChildInput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        without_signal(|| self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes while this thread blocks SIGPIPE, and takes back the signal that the write raised: write(2) sends
/// it to the thread that writes.
fn without_signal(write: impl FnOnce() -> io::Result<usize>) -> io::Result<usize> {
    let mut broken = SigSet::empty();
    broken.add(Signal::SIGPIPE);
    let before = broken.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let waited = is_pending();
    let written = write();
    // One that waited before is somebody else's.
    if written.is_err() && !waited && is_pending() {
        broken.wait()?;
    }
    before.thread_set_mask()?;
    written
}

/// Whether a SIGPIPE waits for this thread.
fn is_pending() -> bool {
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigpending(2) fills the set that it is given, and it is read only if it did.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0 && libc::sigismember(pending.as_ptr(), libc::SIGPIPE) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// The test runs itself as a child whose SIGPIPE has the default action, as `tasuki` has it: a signal
    /// that was raised would end it.
    #[test]
    fn a_child_that_has_ended_is_an_error_where_the_signal_would_end_the_process() {
        const MARK: &str = "TASUKI_TEST_BROKEN_PIPE";
        if std::env::var_os(MARK).is_some() {
            // SAFETY: the default action installs no handler.
            unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }.expect("sets");
            let mut child = Command::new("true").stdin(Stdio::piped()).spawn().expect("starts");
            let mut input = ChildInput::from(child.stdin.take().expect("a pipe"));
            child.wait().expect("ends");
            for _ in 0..2 {
                assert_eq!(input.write_all(b"order").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
            }
            assert!(!is_pending() && !SigSet::thread_get_mask().expect("a mask").contains(Signal::SIGPIPE));
            return;
        }
        let name = "a_child_that_has_ended_is_an_error_where_the_signal_would_end_the_process";
        let mut own = Command::new(std::env::current_exe().expect("a path"));
        let ran = own.args([name, "--include-ignored"]).env(MARK, "1").output().expect("runs");
        assert!(ran.status.success(), "{ran:?}");
        assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "{ran:?}");
    }
}
