//! The port at which other hosts send copies, and ask for them.

use super::Copies;
use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    os::fd::{AsFd, BorrowedFd},
};

/// The port, if it is not taken.
pub(crate) struct Door(Option<TcpListener>);

impl Door {
    /// Listens on all addresses of this host. Where the port is taken there are no copies, which those who
    /// want some are told, and all else works.
    pub fn at(port: u16) -> Self {
        let any = |address: SocketAddr| TcpListener::bind(address);
        let listener =
            any((Ipv6Addr::UNSPECIFIED, port).into()).or_else(|_| any((Ipv4Addr::UNSPECIFIED, port).into()));
        let listener = listener.and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
        if let Err(error) = &listener {
            eprintln!("this host takes no copies of checkpoints: it cannot listen at port {port}: {error}");
        }
        Self(listener.ok())
    }

    /// The listening socket, if there is one.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(AsFd::as_fd)
    }

    /// Serves all who wait at the door.
    pub fn open(&self, copies: &Copies) {
        while let Some(Ok((socket, _))) = self.0.as_ref().map(TcpListener::accept) {
            copies.serve(socket);
        }
    }
}
