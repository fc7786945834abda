//! An interactive command in a host: it has a terminal of its own, which is joined to this process's
//! terminal.

use crate::{ExecRequest, Exit, Lab, LabError, Session};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    pty::{OpenptyResult, Winsize, openpty},
    sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr},
    unistd::{read, write},
};
use signal_hook::{consts, flag};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Runs a command on a new terminal that is joined to this process's.
pub(super) fn run(lab: &Lab, mut request: ExecRequest) -> Result<Exit, LabError> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let size = window_size(stdin.as_fd());
    let opened = openpty(size.as_ref(), None).map_err(LabError::system("open a terminal"))?;
    let OpenptyResult { master, slave } = opened;
    request.terminal = true;
    let session = lab.exec(request, [slave.as_fd(), slave.as_fd(), slave.as_fd()])?;
    // The output ends when the last slave is closed, so this process must not hold one.
    drop(slave);
    let raw = RawMode::set(stdin.as_fd())?;
    let relayed = Relay { session: &session, master, input: stdin.as_fd(), output: stdout.as_fd() }.run();
    drop(raw);
    match relayed? {
        Ended::Command => session.wait(),
        Ended::Signal => Err(LabError::Interrupted),
    }
}

/// This process's terminal in raw mode, in which it hands every key on, until this value is dropped.
struct RawMode<'a> {
    terminal: BorrowedFd<'a>,
    before: Termios,
}

impl<'a> RawMode<'a> {
    fn set(terminal: BorrowedFd<'a>) -> Result<Self, LabError> {
        let before = tcgetattr(terminal).map_err(LabError::system("read the terminal's settings"))?;
        let mut raw = before.clone();
        cfmakeraw(&mut raw);
        tcsetattr(terminal, SetArg::TCSANOW, &raw).map_err(LabError::system("set the terminal"))?;
        Ok(Self { terminal, before })
    }
}

impl Drop for RawMode<'_> {
    fn drop(&mut self) {
        // This fails only if the terminal is gone.
        let _ = tcsetattr(self.terminal, SetArg::TCSANOW, &self.before);
    }
}

/// Why a relay has ended.
enum Ended {
    /// The command has ended.
    Command,
    /// A signal asks this process to end.
    Signal,
}

/// Carries keys from this process's terminal to the command's, and output back.
struct Relay<'a> {
    session: &'a Session,
    master: OwnedFd,
    input: BorrowedFd<'a>,
    output: BorrowedFd<'a>,
}

impl Relay<'_> {
    /// Carries keys and output until the command or this process is to end.
    fn run(&self) -> Result<Ended, LabError> {
        let (resized, stopped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let watched = [(consts::SIGWINCH, &resized), (consts::SIGTERM, &stopped), (consts::SIGHUP, &stopped)];
        for (signal, seen) in watched {
            flag::register(signal, Arc::clone(seen)).map_err(LabError::system("catch signals"))?;
        }
        let mut input_open = true;
        loop {
            if resized.swap(false, Ordering::Relaxed) {
                self.resize();
            }
            if stopped.load(Ordering::Relaxed) {
                return Ok(Ended::Signal);
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
                result => result.map_err(LabError::system("wait for keys and output"))?,
            };
            let ready: Vec<bool> = waiting.iter().map(|fd| fd.any().unwrap_or(false)).collect();
            // Output that has arrived is copied before the command's end is reported.
            let printed = ready[1] && copy(self.master.as_fd(), self.output)?;
            if ready[0] && !printed {
                return Ok(Ended::Command);
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

/// Copies what can be read now. Returns false at the end of the input; a master says EIO when no slave is
/// left.
fn copy(from: BorrowedFd, to: BorrowedFd) -> Result<bool, LabError> {
    let mut buffer = [0u8; 4096];
    let count = match read(from, &mut buffer) {
        Ok(0) | Err(Errno::EIO) => return Ok(false),
        Err(Errno::EINTR | Errno::EAGAIN) => return Ok(true),
        count => count.map_err(LabError::system("read from the terminal"))?,
    };
    let mut rest = &buffer[..count];
    while !rest.is_empty() {
        match write(to, rest) {
            Err(Errno::EINTR) => {}
            written => rest = &rest[written.map_err(LabError::system("write to the terminal"))?..],
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
