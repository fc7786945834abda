//! Runs a command with a limit on its time and on what is kept of its output.

use crate::Output;
use nix::{
    errno::Errno,
    sys::{
        prctl,
        signal::{Signal, killpg},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::{Pid, getpid, getppid},
};
use std::{
    io::{self, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

/// Most bytes kept of each stream of a command that was not limited further: 16 MiB.
const KEPT_BYTES: usize = 16 << 20;
/// Most bytes kept of each stream of a [`Limited::probe`]: 1 MiB.
const PROBE_KEPT_BYTES: usize = 1 << 20;
/// Time between SIGTERM and SIGKILL. A launcher needs it to stop its ranks, which are not children of ours.
const GRACE: Duration = Duration::from_secs(5);
/// How long to wait for the end of the streams once the command has ended: a process that it left behind may
/// hold them open.
const STREAM_LIMIT: Duration = Duration::from_secs(2);

/// How a command is run: for how long, with what standard input, and what becomes of its process group.
///
/// Every command runs in a process group of its own. Its standard output and error are read all the time, so
/// that it never blocks on them, and are kept up to a number of bytes.
#[derive(Debug)]
pub struct Limited {
    time: Duration,
    kept_bytes: usize,
    grace: Duration,
    kills_group: bool,
    ends_with_parent: bool,
    input: Stdio,
}

impl Limited {
    /// Lets a command run for `time`. Then its process group is sent SIGTERM, and SIGKILL five seconds later.
    /// What a command that ends in time leaves behind in the background goes on.
    pub fn new(time: Duration) -> Self {
        Self {
            time,
            kept_bytes: KEPT_BYTES,
            grace: GRACE,
            kills_group: false,
            ends_with_parent: false,
            input: Stdio::null(),
        }
    }

    /// For a command that is only asked something and changes nothing, as a launcher for its version: its
    /// process group is killed when it ends or when `time` is up, without a warning, and 1 MiB of each stream
    /// is kept. Loaders, launchers and libraries of any age may hang or talk without end when they are asked.
    pub fn probe(time: Duration) -> Self {
        Self { kept_bytes: PROBE_KEPT_BYTES, grace: Duration::ZERO, kills_group: true, ..Self::new(time) }
    }

    /// Keeps so many bytes of each stream.
    pub fn keep(self, kept_bytes: usize) -> Self {
        Self { kept_bytes, ..self }
    }

    /// Sets the command's standard input, which is otherwise empty.
    pub fn input(self, input: impl Into<Stdio>) -> Self {
        Self { input: input.into(), ..self }
    }

    /// Has the kernel send the command SIGTERM if this process ends first, by Ctrl-C for instance, which does
    /// not reach the command's own process group (prctl(2), PR_SET_PDEATHSIG).
    pub fn end_with_parent(self) -> Self {
        Self { ends_with_parent: true, ..self }
    }

    /// Runs a command to its end, or ends it when its time is up. Takes no more than a few seconds longer
    /// than that.
    ///
    /// # Errors
    /// What the system says if the command cannot be started or waited for.
    pub fn run(self, command: &mut Command) -> io::Result<Output> {
        command.stdin(self.input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        if self.ends_with_parent {
            end_with_parent(command);
        }
        let mut child = command.spawn()?;
        let stdout = Stream::follow(child.stdout.take(), Keep::Beginning, self.kept_bytes);
        let stderr = Stream::follow(child.stderr.take(), Keep::End, self.kept_bytes);
        let in_time = has_ended(&child, self.time)?;
        let status = if in_time {
            if self.kills_group {
                signal_group(&child, Signal::SIGKILL)?;
            }
            child.wait()?
        } else {
            stop(&mut child, self.grace)?
        };
        let deadline = Instant::now() + STREAM_LIMIT;
        let (stdout, is_cut) = stdout.text(deadline);
        Ok(Output {
            code: status.code(),
            signal: status.signal(),
            timed_out: !in_time,
            stdout,
            is_cut,
            stderr: stderr.text(deadline).0,
        })
    }
}

/// Runs a command to its end, or ends it when `limit` has passed: [`Limited::new`] and [`Limited::run`].
///
/// # Errors
/// What the system says if the command cannot be started or waited for.
pub fn run_limited(command: &mut Command, limit: Duration) -> io::Result<Output> {
    Limited::new(limit).run(command)
}

/// Has the kernel send a command SIGTERM when the thread that starts it ends (prctl(2), PR_SET_PDEATHSIG).
/// The thread that starts it must be the one that waits for it, so that it ends before the command only if
/// the process does.
pub fn end_with_parent(command: &mut Command) {
    let parent = getpid();
    let ask = move || {
        prctl::set_pdeathsig(Signal::SIGTERM)?;
        // A parent that ended before the call will not be reported any more.
        if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
    };
    // SAFETY: between fork and exec only two async-signal-safe system calls are made, prctl(2) and
    // getppid(2), and nothing is allocated: an error is made of a number.
    unsafe { command.pre_exec(ask) };
}

/// Whether a child ends within `limit`. It is left to be reaped by its owner, so its number is not given to
/// another process yet. A thread waits for it: looking from time to time would add the time between two
/// looks.
fn has_ended(child: &Child, limit: Duration) -> io::Result<bool> {
    let pid = pid(child)?;
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        while waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(Errno::EINTR) {}
        // Nobody receives this if the child took too long.
        let _ = tell.send(());
    });
    Ok(told.recv_timeout(limit) != Err(mpsc::RecvTimeoutError::Timeout))
}

/// Ends a child that has not been reaped, with SIGTERM first if it has a `grace`.
fn stop(child: &mut Child, grace: Duration) -> io::Result<ExitStatus> {
    let signals = [(Signal::SIGTERM, grace), (Signal::SIGKILL, GRACE)];
    for (signal, limit) in signals.into_iter().filter(|(_, limit)| !limit.is_zero()) {
        signal_group(child, signal)?;
        if has_ended(child, limit)? {
            return child.wait();
        }
    }
    Err(io::Error::other(format!("process {} does not end, even when killed", child.id())))
}

/// Signals the process group of a child that has not been reaped, so that the group's number cannot be
/// another's.
fn signal_group(child: &Child, signal: Signal) -> io::Result<()> {
    match killpg(pid(child)?, signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn pid(child: &Child) -> io::Result<Pid> {
    i32::try_from(child.id()).map(Pid::from_raw).map_err(io::Error::other)
}

/// Which part of a stream is kept if it is longer than the limit.
#[derive(Clone, Copy)]
enum Keep {
    Beginning,
    End,
}

/// What was kept of a stream, and whether that is not all.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    is_cut: bool,
}

/// A stream that a thread empties, so that the command never blocks on it.
struct Stream {
    kept: Arc<Mutex<Kept>>,
    /// Disconnected when the stream has ended.
    end: mpsc::Receiver<()>,
}

impl Stream {
    fn follow(source: Option<impl Read + Send + 'static>, keep: Keep, limit: usize) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let shared = Arc::clone(&kept);
        let (running, end) = mpsc::channel();
        if let Some(source) = source {
            thread::spawn(move || {
                pump(source, &shared, keep, limit);
                drop(running);
            });
        }
        Self { kept, end }
    }

    /// What was kept when the stream ended, or by the deadline, and whether there was more.
    fn text(self, deadline: Instant) -> (String, bool) {
        // Nothing is ever sent: this returns at the end of the stream or at the deadline, and either will do.
        let _ = self.end.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (String::from_utf8_lossy(&kept.bytes).into_owned(), kept.is_cut)
    }
}

fn pump(mut source: impl Read, kept: &Mutex<Kept>, keep: Keep, limit: usize) {
    let mut buffer = [0; 8192];
    loop {
        let count = match source.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let room = limit.saturating_sub(kept.bytes.len());
        kept.is_cut |= room < count;
        match keep {
            Keep::Beginning => kept.bytes.extend_from_slice(&buffer[..count.min(room)]),
            Keep::End => {
                if room < count {
                    kept.bytes.drain(..limit / 2);
                }
                kept.bytes.extend_from_slice(&buffer[..count]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
