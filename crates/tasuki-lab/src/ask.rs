//! Asking a lab, also one whose process is stopped: it answers nothing until somebody continues it.

use crate::{
    LabError,
    channel::Channel,
    client::receive,
    protocol::{Reply, Request},
};
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd::Pid,
};
use std::{
    fs,
    os::fd::{AsFd, BorrowedFd},
};

/// How often is looked whether the lab's process is stopped while it has not answered, ms. Labs answer within
/// milliseconds.
const LOOK_MS: u16 = 500;

/// Sends a request and waits for its answer.
pub(crate) fn request(
    channel: &Channel,
    pid: Option<Pid>,
    request: &Request,
    descriptors: &[BorrowedFd],
) -> Result<Reply, LabError> {
    channel.send(request, descriptors).map_err(LabError::system("ask the lab"))?;
    await_answer(channel, pid)?;
    receive(channel, "a request")
}

/// Waits until a message or the end of the connection has come.
///
/// # Errors
/// If the lab's process is stopped (SIGSTOP, or a debugger).
pub(crate) fn await_answer(channel: &Channel, pid: Option<Pid>) -> Result<(), LabError> {
    let Some(pid) = pid else { return Ok(()) };
    let mut waiting = [PollFd::new(channel.as_fd(), PollFlags::POLLIN)];
    while poll(&mut waiting, PollTimeout::from(LOOK_MS)) == Ok(0) {
        if is_stopped(pid) {
            return Err(LabError::Failed(format!(
                "the lab's process {pid} is stopped and answers nothing; kill -CONT {pid} lets it go on"
            )));
        }
    }
    Ok(())
}

/// Whether a process is stopped (proc(5), `/proc/PID/stat`: T by a signal, t by a debugger).
fn is_stopped(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The command's name, in parentheses, may itself contain parentheses.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}
