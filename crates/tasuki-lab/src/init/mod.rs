//! `lab-init`: process 1 of a lab. It has one thread and one loop, and forks for everything that must happen
//! in other namespaces.

mod cores;
mod descendants;
mod fabric;
mod faults;
mod host;
mod jobs;
mod mounts;
mod outcome;
mod reserve;
mod selection;
mod server;
mod session;
mod setup;
mod share;
mod starter;

use crate::{
    channel::{Channel, Received},
    listener,
    protocol::{Progress, StartMessage},
};
use nix::sys::{
    prctl,
    signal::{SigSet, Signal},
};
use outcome::{Outcome, while_doing};
use std::{
    ffi::{CStr, CString},
    os::fd::{FromRawFd, OwnedFd, RawFd},
    process::ExitCode,
};

/// First argument with which the `tasuki` command becomes `lab-init`.
pub const INIT_COMMAND: &CStr = c"__lab-init";
/// Descriptor of the channel to the process that started `lab-init`.
pub(crate) const CONTROL_DESCRIPTOR: RawFd = 3;
/// Descriptor of the socket that has the lab's name.
pub(crate) const LISTENER_DESCRIPTOR: RawFd = 4;

/// Runs `lab-init` to its end. To be called by a program that was started with [`INIT_COMMAND`], before it
/// makes any thread.
pub fn main() -> ExitCode {
    if std::process::id() != 1 {
        eprintln!("this is an internal command of tasuki; use `tasuki lab up`");
        return ExitCode::FAILURE;
    }
    // SAFETY: the starter has put these two descriptors there for this process (start.rs), and no other code
    // owns them.
    let (control, listener) =
        unsafe { (OwnedFd::from_raw_fd(CONTROL_DESCRIPTOR), OwnedFd::from_raw_fd(LISTENER_DESCRIPTOR)) };
    let control = Channel::from(control);
    // Clients recognise a lab by this name, among other things. Without it the process would be listed as
    // "exe", because it is started through /proc/self/exe.
    let named = CString::new(listener::PROCESS_NAME).is_ok_and(|name| prctl::set_name(&name).is_ok());
    if !named {
        return ExitCode::FAILURE;
    }
    // The lab must not end by signals that a terminal or a shell sends to a process group.
    let mut blocked = SigSet::empty();
    blocked.extend([Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    if blocked.thread_block().is_err() {
        return ExitCode::FAILURE;
    }
    match start(&control, listener) {
        Ok(Some(mut server)) => {
            server.run(control);
            ExitCode::SUCCESS
        }
        // The starter has gone away.
        Ok(None) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = control.send(&Progress::Failed(why), &[]);
            ExitCode::FAILURE
        }
    }
}

fn start(control: &Channel, listener: OwnedFd) -> Outcome<Option<server::Server>> {
    let message: Option<Received<StartMessage>> =
        control.receive().map_err(while_doing("read the start message"))?;
    let Some(Received { message, .. }) = message else { return Ok(None) };
    // `listen` is called here and not in the starter, because clients see the process number of the process
    // that called it (unix(7), SO_PEERCRED).
    nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::MAXCONN).map_err(while_doing("listen"))?;
    let mut report = |done, total, what: &str| {
        let _ = control.send(&Progress::Step { done, total, what: what.into() }, &[]);
    };
    let server = setup::build(message, listener, &mut report)?;
    // From here on the end of the channel shows that the starter has ended. So a starter that lets the lab go
    // may end at once, without waiting for an answer during which it could be killed.
    prctl::set_pdeathsig(None).map_err(while_doing("prctl"))?;
    control.send(&Progress::Ready, &[]).map_err(while_doing("report"))?;
    Ok(Some(server))
}
