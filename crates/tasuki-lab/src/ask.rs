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
    fs, io,
    os::fd::{AsFd, BorrowedFd},
};

/// How often is looked whether the lab's process is stopped while it has not answered, ms. Labs answer within
/// milliseconds.
const LOOK_MS: u16 = 500;

/// How often a request is sent to a lab that goes on with others before it has come.
const SENT_MAX: u32 = 10;

/// Connects to a lab and sends a request. A lab that has used up its descriptors waits for a request no
/// longer than a second, so that a client that is late on a busy machine has to come again. What could not be
/// sent has not been heard.
pub(crate) fn deliver(
    connect: impl Fn() -> Result<(Channel, Option<Pid>), LabError>,
    request: &Request,
    descriptors: &[BorrowedFd],
) -> Result<(Channel, Option<Pid>), LabError> {
    let mut sent = 0;
    loop {
        let (channel, pid) = connect()?;
        sent += 1;
        match channel.send(request, descriptors) {
            Ok(_) => return Ok((channel, pid)),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe && sent < SENT_MAX => {}
            Err(error) => return Err(LabError::system("ask the lab")(error)),
        }
    }
}

/// Sends a request and waits for its answer, which comes with the connection.
pub(crate) fn request(
    connect: impl Fn() -> Result<(Channel, Option<Pid>), LabError>,
    request: &Request,
    descriptors: &[BorrowedFd],
) -> Result<(Reply, Channel, Option<Pid>), LabError> {
    let (channel, pid) = deliver(connect, request, descriptors)?;
    await_answer(&channel, pid)?;
    Ok((receive(&channel, "a request")?, channel, pid))
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

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    use std::cell::Cell;

    /// Connections of which the other end has gone for so many, as that of a lab that waits for no request.
    fn deliver_after(gone: u32) -> (Result<(), LabError>, u32) {
        let (asked, kept) = (Cell::new(0), Cell::new(None));
        let connect = || {
            let (family, kind) = (AddressFamily::Unix, SockType::SeqPacket);
            let (ours, theirs) = socketpair(family, kind, None, SockFlag::SOCK_CLOEXEC).expect("a pair");
            asked.set(asked.get() + 1);
            if asked.get() > gone {
                kept.set(Some(theirs));
            }
            Ok((Channel::from(ours), None))
        };
        let delivered = deliver(connect, &Request::Status, &[]).map(drop);
        (delivered, asked.get())
    }

    #[test]
    fn a_request_that_comes_too_late_is_sent_again() {
        let (delivered, asked) = deliver_after(3);
        assert!(delivered.is_ok() && asked == 4, "{delivered:?} {asked}");
        let (delivered, asked) = deliver_after(u32::MAX);
        let told = delivered.unwrap_err().to_string();
        assert!(asked == SENT_MAX && told.contains("ask the lab"), "{told} {asked}");
    }
}
