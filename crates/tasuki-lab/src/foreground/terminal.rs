//! An interactive command in a host: it has a terminal of its own, which is joined to this process's
//! terminal.

use crate::{ExecRequest, Exit, Lab, LabError, Session};
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    pty::{OpenptyResult, Winsize, openpty},
    sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr},
    unistd::{read, write},
};
use signal_hook::{consts, flag, low_level::pipe};
use std::{
    io::{self, Read},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
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
    /// Carries keys and output until the command or this process is to end. Keys wait for a command that does
    /// not read them, and its output and signals are seen to meanwhile: it may not read because its output is
    /// in the way.
    fn run(&self) -> Result<Ended, LabError> {
        let (resized, stopped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (woken, wakes) = UnixStream::pair().map_err(LabError::system("make a pair of sockets"))?;
        woken.set_nonblocking(true).map_err(LabError::system("make a pair of sockets"))?;
        let watched = [(consts::SIGWINCH, &resized), (consts::SIGTERM, &stopped), (consts::SIGHUP, &stopped)];
        for (signal, seen) in watched {
            flag::register(signal, Arc::clone(seen)).map_err(LabError::system("catch signals"))?;
            let wakes = wakes.try_clone().map_err(LabError::system("catch signals"))?;
            // A signal that comes between the look at the flags and the wait ends the wait.
            pipe::register(signal, wakes).map_err(LabError::system("catch signals"))?;
        }
        fcntl(&self.master, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))
            .map_err(LabError::system("set the terminal"))?;
        let (mut input_open, mut keys) = (true, Vec::new());
        loop {
            if resized.swap(false, Ordering::Relaxed) {
                self.resize();
            }
            if stopped.load(Ordering::Relaxed) {
                return Ok(Ended::Signal);
            }
            let ready = self.wait(woken.as_fd(), input_open && keys.is_empty(), !keys.is_empty())?;
            let _ = (&woken).read(&mut [0; 64]);
            // Output that has arrived is copied before the command's end is reported.
            let printed = ready.output && self.print()?;
            if ready.end && !printed {
                return Ok(Ended::Command);
            }
            if ready.room {
                give(&self.master, &mut keys)?;
            }
            if ready.keys {
                input_open = take(self.input, &mut keys)?;
            }
        }
    }

    /// Waits until something is to be done. Of the keys and of the room for them only what is asked for.
    fn wait(&self, woken: BorrowedFd, keys: bool, room: bool) -> Result<Ready, LabError> {
        let of_master = if room { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
        let mut waiting = vec![
            PollFd::new(self.session.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.master.as_fd(), of_master),
            PollFd::new(woken, PollFlags::POLLIN),
        ];
        if keys {
            waiting.push(PollFd::new(self.input, PollFlags::POLLIN));
        }
        match poll(&mut waiting, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(LabError::system("wait for keys and output")(errno)),
        }
        let is = |at: usize, flags: PollFlags| {
            let found: Option<PollFlags> = waiting.get(at).and_then(PollFd::revents);
            found.is_some_and(|found| found.intersects(flags | PollFlags::POLLHUP | PollFlags::POLLERR))
        };
        Ok(Ready {
            end: is(0, PollFlags::POLLIN),
            output: is(1, PollFlags::POLLIN),
            room: room && is(1, PollFlags::POLLOUT),
            keys: is(3, PollFlags::POLLIN),
        })
    }

    /// Copies output that has come. False if there is none.
    fn print(&self) -> Result<bool, LabError> {
        let mut output = Vec::new();
        let open = take(self.master.as_fd(), &mut output)?;
        let mut rest = output.as_slice();
        while !rest.is_empty() {
            match write(self.output, rest) {
                Err(Errno::EINTR) => {}
                written => rest = &rest[written.map_err(LabError::system("write to the terminal"))?..],
            }
        }
        Ok(open && !output.is_empty())
    }

    fn resize(&self) {
        if let Some(size) = window_size(self.input) {
            // SAFETY: the descriptor is open and the pointer leads to a winsize that outlives the call.
            unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &size) };
        }
    }
}

/// What can be done without a wait.
struct Ready {
    /// The command has ended.
    end: bool,
    /// Output of it has come.
    output: bool,
    /// It takes keys.
    room: bool,
    /// Keys have come.
    keys: bool,
}

/// Takes what can be read now. Returns false at the end; a master says EIO when no slave is left.
fn take(from: BorrowedFd, into: &mut Vec<u8>) -> Result<bool, LabError> {
    let mut buffer = [0u8; 4096];
    match read(from, &mut buffer) {
        Ok(0) | Err(Errno::EIO) => Ok(false),
        Err(Errno::EINTR | Errno::EAGAIN) => Ok(true),
        count => {
            let count = count.map_err(LabError::system("read from the terminal"))?;
            into.extend(&buffer[..count]);
            Ok(true)
        }
    }
}

/// Gives the command's terminal as many keys as it takes now. Where no slave is left nobody wants them.
fn give(master: &OwnedFd, keys: &mut Vec<u8>) -> Result<(), LabError> {
    match write(master, keys) {
        Ok(count) => drop(keys.drain(..count)),
        Err(Errno::EINTR | Errno::EAGAIN) => {}
        Err(Errno::EIO) => keys.clear(),
        Err(errno) => return Err(LabError::system("write to the terminal")(errno)),
    }
    Ok(())
}

fn window_size(terminal: BorrowedFd) -> Option<Winsize> {
    // SAFETY: winsize is plain old data; all zeroes is a valid value.
    let mut size: Winsize = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and the pointer leads to a winsize that outlives the call.
    let result = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &mut size) };
    (result == 0).then_some(size)
}
