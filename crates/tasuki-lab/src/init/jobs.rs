//! Jobs: sessions on several hosts that end together.
//!
//! `lab-init` holds one end of a socket pair to every session. A root session that wants its job ended
//! writes a byte; `lab-init` closes the members' sockets, waits until each has closed its own end (its
//! processes are gone then), and writes a byte back to the root.

use nix::{
    errno::Errno,
    sys::socket::{AddressFamily, MsgFlags, Shutdown, SockFlag, SockType, recv, send, shutdown, socketpair},
};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

struct Member {
    job: String,
    root: bool,
    ending: bool,
    socket: OwnedFd,
}

/// All sessions that run.
#[derive(Default)]
pub struct Jobs {
    members: Vec<Member>,
    started: u64,
}

impl Jobs {
    /// Makes the name of a new job.
    pub fn new_name(&mut self) -> String {
        self.started += 1;
        format!("job-{}", self.started)
    }

    /// Whether a job can take new members.
    pub fn is_running(&self, job: &str) -> bool {
        self.members.iter().any(|member| member.job == job && member.root && !member.ending)
    }

    /// Registers a session. Returns the session's end of the socket pair.
    pub fn add(&mut self, job: &str, root: bool) -> nix::Result<OwnedFd> {
        let (ours, theirs) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        self.members.push(Member { job: job.into(), root, ending: false, socket: ours });
        Ok(theirs)
    }

    /// The sockets to poll, in the order in which [`Jobs::readable`] counts them.
    pub fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.members.iter().map(|member| member.socket.as_fd())
    }

    /// Handles what the sessions at these positions have sent.
    pub fn readable(&mut self, positions: &[usize]) {
        let mut gone = Vec::new();
        for &position in positions {
            let mut byte = [0u8; 1];
            let member = &mut self.members[position];
            match recv(member.socket.as_raw_fd(), &mut byte, MsgFlags::MSG_DONTWAIT) {
                Ok(0) => gone.push(position),
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(_) => gone.push(position),
                Ok(_) => member.ending = true,
            }
        }
        for position in gone.into_iter().rev() {
            let member = self.members.remove(position);
            if member.root {
                self.end_members(&member.job);
            }
        }
        self.advance_endings();
    }

    fn end_members(&self, job: &str) {
        for member in self.members.iter().filter(|member| member.job == job && !member.root) {
            // Only this direction is closed: the other one reports when the session is gone. It may have been
            // closed before.
            let _ = shutdown(member.socket.as_raw_fd(), Shutdown::Write);
        }
    }

    /// Ends the members of jobs whose root asked for it, and answers the root when none is left.
    fn advance_endings(&self) {
        for root in self.members.iter().filter(|member| member.root && member.ending) {
            if self.members.iter().any(|member| member.job == root.job && !member.root) {
                self.end_members(&root.job);
            } else {
                let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
                let _ = send(root.socket.as_raw_fd(), b"k", flags);
            }
        }
    }
}
