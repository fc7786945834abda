//! An interactive command in a host: a terminal of its own, so that job control, line editing and Ctrl-C work
//! as in a local shell.

use crate::failure::Failure;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    pty::{OpenptyResult, Winsize, openpty},
    sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr},
    unistd::{read, write},
};
use signal_hook::{consts, flag};
use std::{
    io::{self, IsTerminal},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tasuki_lab::{ExecRequest, Exit, Lab, Session};

/// Whether a person sits at both ends.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Runs a command on a new terminal that is joined to ours.
pub fn in_host(lab: &Lab, mut request: ExecRequest) -> Result<Exit, Failure> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let size = window_size(stdin.as_fd());
    let OpenptyResult { master, slave } = openpty(size.as_ref(), None)?;
    request.terminal = true;
    let session = lab.exec(request, [slave.as_fd(), slave.as_fd(), slave.as_fd()])?;
    // The end of the last slave is the end of the output.
    drop(slave);
    let raw = RawMode::set(stdin.as_fd())?;
    let relayed = Relay { session: &session, master, input: stdin.as_fd(), output: stdout.as_fd() }.run();
    drop(raw);
    if relayed? { Ok(session.wait()?) } else { Err(Failure::new("interrupted")) }
}

/// Our terminal hands every key on, until this is dropped.
struct RawMode<'a> {
    terminal: BorrowedFd<'a>,
    before: Termios,
}

impl<'a> RawMode<'a> {
    fn set(terminal: BorrowedFd<'a>) -> Result<Self, Failure> {
        let before = tcgetattr(terminal)?;
        let mut raw = before.clone();
        cfmakeraw(&mut raw);
        tcsetattr(terminal, SetArg::TCSANOW, &raw)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for RawMode<'_> {
    fn drop(&mut self) {
        // Where this fails the terminal is gone.
        let _ = tcsetattr(self.terminal, SetArg::TCSANOW, &self.before);
    }
}

struct Relay<'a> {
    session: &'a Session,
    master: OwnedFd,
    input: BorrowedFd<'a>,
    output: BorrowedFd<'a>,
}

impl Relay<'_> {
    /// Carries keys and output until the command has ended (true) or a signal ends us (false).
    fn run(&self) -> Result<bool, Failure> {
        let (resized, stopped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        flag::register(consts::SIGWINCH, Arc::clone(&resized))?;
        for signal in [consts::SIGTERM, consts::SIGHUP] {
            flag::register(signal, Arc::clone(&stopped))?;
        }
        let mut input_open = true;
        loop {
            if resized.swap(false, Ordering::Relaxed) {
                self.resize();
            }
            if stopped.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let mut waiting = vec![
                PollFd::new(self.session.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.master.as_fd(), PollFlags::POLLIN),
            ];
            if input_open {
                waiting.push(PollFd::new(self.input, PollFlags::POLLIN));
            }
            match poll(&mut waiting, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                result => result?,
            };
            let ready: Vec<bool> = waiting.iter().map(|fd| fd.any().unwrap_or(false)).collect();
            // Output that is there goes before the news that the command has ended.
            let printed = ready[1] && copy(self.master.as_fd(), self.output)?;
            if ready[0] && !printed {
                return Ok(true);
            }
            if ready.get(2) == Some(&true) {
                input_open = copy(self.input, self.master.as_fd())?;
            }
        }
    }

    fn resize(&self) {
        if let Some(size) = window_size(self.input) {
            // SAFETY: the descriptor is open and the pointer leads to a winsize that outlives the call.
            unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &size) };
        }
    }
}

/// Carries what is there; false at the end (a master says EIO when no slave is left).
fn copy(from: BorrowedFd, to: BorrowedFd) -> Result<bool, Failure> {
    let mut buffer = [0u8; 4096];
    let count = match read(from, &mut buffer) {
        Ok(0) | Err(Errno::EIO) => return Ok(false),
        Err(Errno::EINTR | Errno::EAGAIN) => return Ok(true),
        count => count?,
    };
    let mut rest = &buffer[..count];
    while !rest.is_empty() {
        match write(to, rest) {
            Err(Errno::EINTR) => {}
            written => rest = &rest[written?..],
        }
    }
    Ok(true)
}

fn window_size(terminal: BorrowedFd) -> Option<Winsize> {
    // SAFETY: winsize is plain old data; all zeroes is a valid value.
    let mut size: Winsize = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and the pointer leads to a winsize that outlives the call.
    let result = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &mut size) };
    (result == 0).then_some(size)
}
