//! `lab-init`: process 1 of a lab. One thread, one loop; it forks for whatever must happen elsewhere.

mod cores;
mod descendants;
mod fabric;
mod faults;
mod host;
mod jobs;
mod mounts;
mod selection;
mod server;
mod session;
mod setup;
mod share;

use crate::{
    channel::{Channel, Received},
    listener,
    protocol::{Commit, Progress, StartMessage},
};
use nix::{
    sys::{
        prctl,
        signal::{SigSet, Signal},
    },
    unistd::dup2_stderr,
};
use std::{
    ffi::{CStr, CString},
    fs::OpenOptions,
    os::fd::{FromRawFd, OwnedFd, RawFd},
    process::ExitCode,
};

/// First argument by which the `tasuki` command becomes `lab-init`.
pub const INIT_COMMAND: &CStr = c"__lab-init";
/// Where `lab-init` finds the channel to its starter.
pub(crate) const CONTROL_DESCRIPTOR: RawFd = 3;
/// Where `lab-init` finds the socket that has the lab's name.
pub(crate) const LISTENER_DESCRIPTOR: RawFd = 4;

/// What goes wrong in here is told to somebody else, in words.
type Outcome<T> = Result<T, String>;

/// For `map_err`: what was attempted, and what the system said.
fn while_doing<E: std::fmt::Display>(what: impl std::fmt::Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

/// The whole life of `lab-init`. To be called by a program started with [`INIT_COMMAND`], before it makes any
/// thread.
pub fn main() -> ExitCode {
    if std::process::id() != 1 {
        eprintln!("this is an internal command of tasuki; use `tasuki lab up`");
        return ExitCode::FAILURE;
    }
    // SAFETY: the starter put these two descriptors here for us (start.rs) and nobody else owns them.
    let (control, listener) =
        unsafe { (OwnedFd::from_raw_fd(CONTROL_DESCRIPTOR), OwnedFd::from_raw_fd(LISTENER_DESCRIPTOR)) };
    let control = Channel::from(control);
    // Clients know a lab by this name, among other things; and started through /proc/self/exe, it would be listed as "exe".
    let named = CString::new(listener::PROCESS_NAME).is_ok_and(|name| prctl::set_name(&name).is_ok());
    if !named {
        return ExitCode::FAILURE;
    }
    // Our death must not depend on the signals that a terminal or a shell sends around.
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
        // The starter went away.
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
    // Here and not in the starter: clients see the process number of whom called listen() (unix(7), SO_PEERCRED).
    nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::MAXCONN).map_err(while_doing("listen"))?;
    let mut report = |done, total, what: &str| {
        let _ = control.send(&Progress::Step { done, total, what: what.into() }, &[]);
    };
    let server = setup::build(message, listener, &mut report)?;
    // From here on the end of the channel tells of the starter's end. So a starter that lets the lab go may
    // end at once, without waiting for an answer during which it could be killed.
    prctl::set_pdeathsig(None).map_err(while_doing("prctl"))?;
    control.send(&Progress::Ready, &[]).map_err(while_doing("report"))?;
    Ok(Some(server))
}

/// Takes the starter's last word: it lets the lab go (true), or it is gone itself and the lab with it.
fn let_go(control: &Channel) -> bool {
    matches!(control.receive::<Commit>(), Ok(Some(_))) && redirect_log().is_ok()
}

/// What goes wrong later is written into a file in the lab, not to the starter's terminal.
fn redirect_log() -> Outcome<()> {
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(mounts::LAB_FOLDER.to_owned() + "/log")
        .map_err(while_doing("open the log"))?;
    dup2_stderr(&log).map_err(while_doing("redirect the log"))
}
