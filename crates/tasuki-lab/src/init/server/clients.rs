//! Connections of clients and their requests, also where there is no descriptor for them but the reserve's.

use super::Server;
use crate::{
    channel::{Channel, Received},
    init::reserve::Reserve,
    protocol::{Reply, Request},
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, poll},
    sys::socket::{SockFlag, accept4, getsockopt, sockopt::PeerCredentials},
};
use std::{
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    thread,
    time::Duration,
};

/// How long a client may take from its connection to its request if no other can be served meanwhile, ms.
/// Clients send it at once.
const REQUEST_MS_MAX: u16 = 1000;
/// Pause before a connection is tried again for which the whole machine has no descriptor.
const NO_FILES_PAUSE: Duration = Duration::from_millis(50);

impl Server {
    pub(super) fn accept(&mut self, listener: usize) {
        match self.connection(listener) {
            Err(Errno::EMFILE | Errno::ENFILE) => self.accept_from_reserve(listener),
            Ok(Some(client)) => self.clients.push(client),
            _ => {}
        }
    }

    /// Serves a client for whose connection there is only a descriptor of the reserve. All others wait
    /// meanwhile, so its request must come soon.
    fn accept_from_reserve(&mut self, listener: usize) {
        self.reserve.release();
        match self.connection(listener) {
            Ok(Some(client)) => {
                let mut waiting = [PollFd::new(client.as_fd(), PollFlags::POLLIN)];
                if matches!(poll(&mut waiting, REQUEST_MS_MAX), Ok(1..)) {
                    self.serve(client);
                }
            }
            Ok(None) => {}
            // Other processes have taken the machine's last ones. The client goes on waiting.
            Err(_) => thread::sleep(NO_FILES_PAUSE),
        }
        self.reserve.fill();
    }

    /// The next connection of a listener; `None`: its client may not use the lab, and has been told so.
    fn connection(&self, listener: usize) -> nix::Result<Option<Channel>> {
        let raw = accept4(self.listeners[listener].as_raw_fd(), SockFlag::SOCK_CLOEXEC)?;
        // SAFETY: the kernel has just made this descriptor for this process, and no other code has it.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        // An abstract socket has no file mode that would keep other users out.
        if getsockopt(&socket, PeerCredentials).is_ok_and(|peer| peer.uid() == 0) {
            return Ok(Some(socket.into()));
        }
        let refusal = Reply::Failed("only root may use a lab".into());
        let _ = Channel::from(socket).send(&refusal, &[]);
        Ok(None)
    }

    /// Answers a client. It has the reserve for its descriptors, the kernel's answers and the reply; what
    /// would keep descriptors is refused if the reserve would not be complete again.
    pub(super) fn serve(&mut self, client: Channel) {
        self.reserve.release();
        self.answer(client);
        self.reserve.fill();
    }

    fn answer(&mut self, client: Channel) {
        let Ok(Some(Received { message, descriptors })) = client.receive::<Request>() else { return };
        let enough = self.reserve.fill();
        self.reserve.release();
        let reply = match message {
            Request::Exec(_) if !enough => Err(Reserve::exhausted()),
            Request::Exec(message) => {
                if let Err(why) = self.exec(*message, descriptors, &client) {
                    let _ = client.send(&Reply::Failed(why), &[]);
                }
                return;
            }
            Request::Status => self.status().map(|status| Reply::Status(Box::new(status))),
            Request::Fault(fault) => self.fault(&fault).map(|()| Reply::Done),
            Request::Down => {
                self.ending = true;
                Ok(Reply::Done)
            }
        };
        // Sending fails if the client has gone without waiting for its answer.
        let _ = client.send(&reply.unwrap_or_else(Reply::Failed), &[]);
    }
}
