//! Processes, told from later ones that have got their numbers.

use nix::{errno::Errno, sys::signal::kill};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::{fs, io, os::fd::OwnedFd};

/// When a process was started, in ticks since the machine was (field 22 of /proc/PID/stat, proc(5)); `None`:
/// it has ended, or is not shown to this user.
pub fn started(pid: i32) -> Option<u64> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The command's name, in parentheses, may itself contain spaces and parentheses.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    match fields.next()? {
        // It has ended and its parent has not asked for it yet.
        "Z" | "X" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

/// Whether the process runs that had this number and was started then.
pub fn runs(pid: i32, start: u64) -> bool {
    match started(pid) {
        Some(own) => own == start,
        // /proc may be mounted so that it shows a user only the user's own processes.
        None => pid > 0 && kill(nix::unistd::Pid::from_raw(pid), None) == Err(Errno::EPERM),
    }
}

/// A process that can be sent signals, which no other process gets in its place.
pub struct Process(OwnedFd);

impl Process {
    /// The process of this number that was started then; `None`: it has ended.
    ///
    /// # Errors
    /// What the system says.
    pub fn find(pid: i32, start: u64) -> io::Result<Option<Self>> {
        let number = (pid > 0).then(|| rustix::process::Pid::from_raw(pid)).flatten();
        let Some(number) = number else { return Ok(None) };
        match pidfd_open(number, PidfdFlags::empty()) {
            // The number is looked at once it cannot become another process's any more.
            Ok(process) => Ok((started(pid) == Some(start)).then_some(Self(process))),
            Err(rustix::io::Errno::SRCH) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Sends a signal; not an error if the process has ended.
    ///
    /// # Errors
    /// What the system says.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.0, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}
