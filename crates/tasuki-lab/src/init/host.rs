//! Hosts: a process 1 with namespaces of its own.

use super::{
    mounts,
    outcome::{Outcome, while_doing},
};
use nix::{
    sys::{
        prctl,
        signal::{SigSet, Signal},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, sethostname},
};
use std::{
    fs::File,
    io::{Read, Write},
    os::fd::{AsFd, BorrowedFd},
};

/// A running host.
pub struct LabHost {
    /// Its process 1, by its number in `lab-init`'s PID namespace.
    pub pid: Pid,
    network: File,
}

impl LabHost {
    /// Its network namespace.
    pub fn network(&self) -> BorrowedFd<'_> {
        self.network.as_fd()
    }
}

/// Starts a host and waits until its mounts and name are set. A bare host has neither a table of rails nor
/// the names of other hosts.
pub fn start(name: &str, bare: bool) -> Outcome<LabHost> {
    let (mut ready, report) = std::io::pipe().map_err(while_doing("pipe"))?;
    let flags = libc::CLONE_NEWNS
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::SIGCHLD;
    // SAFETY: without CLONE_VM this is fork(2) into new namespaces; lab-init has one thread, so the child's
    // copy of memory is consistent and it may run any code. The child never returns from here.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags as libc::c_ulong, 0, 0, 0, 0) };
    match pid {
        0 => live(name, bare, report),
        -1 => Err(format!("start host {name}: {}", std::io::Error::last_os_error())),
        pid => {
            drop(report);
            let mut problem = String::new();
            ready.read_to_string(&mut problem).map_err(while_doing("hear from a host"))?;
            match problem.strip_prefix("ready") {
                Some(_) => {}
                None => return Err(format!("start host {name}: {problem}")),
            }
            let network = File::open(format!("/proc/{pid}/ns/net"))
                .map_err(while_doing(format!("open the network of host {name}")))?;
            Ok(LabHost { pid: Pid::from_raw(pid as i32), network })
        }
    }
}

/// Runs a host's process 1: it sets the host up, then adopts orphans and reaps them.
fn live(name: &str, bare: bool, mut report: impl Write + AsFd) -> ! {
    let _ = prctl::set_name(c"tasuki-host");
    let result = mounts::set_up_host(name, bare)
        .and_then(|()| sethostname(name).map_err(while_doing("set the host name")))
        .and_then(|()| std::env::set_current_dir("/").map_err(while_doing("go to /")));
    let text = match &result {
        Ok(()) => "ready",
        Err(why) => why,
    };
    let _ = report.write_all(text.as_bytes());
    // This also ends the report. Nothing of lab-init's may stay open in this process, because lab-init's
    // clients would wait for its end.
    close_everything();
    if result.is_err() {
        exit_now(1);
    }
    let children = SigSet::from(Signal::SIGCHLD);
    loop {
        let _ = children.wait();
        reap();
    }
}

/// Reaps all children that have ended.
pub fn reap() {
    while !matches!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Err(_) | Ok(WaitStatus::StillAlive)) {}
}

/// Closes every descriptor, including standard error.
fn close_everything() {
    // SAFETY: from here on the process only waits for signals, and never uses a descriptor again.
    unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) };
}

/// Ends a forked process without running any code of lab-init's.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}
