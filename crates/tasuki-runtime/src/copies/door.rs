//! The port at which other hosts send copies, and ask for them.

use super::Copies;
use crate::wire;
use nix::sys::socket::{Shutdown, shutdown};
use std::{
    net::TcpListener,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

/// The port, if it is not taken.
pub(crate) struct Door(Option<TcpListener>);

impl Door {
    /// Listens on all addresses of this host. Where the port is taken there are no copies, which those who
    /// want some are told, and all else works.
    pub fn at(port: u16) -> Self {
        let listener = wire::listen(port);
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

impl Drop for Door {
    fn drop(&mut self) {
        // A command that is being started has a copy of the socket until it runs, which would keep the port.
        if let Some(listener) = &self.0 {
            let _ = shutdown(listener.as_raw_fd(), Shutdown::Both);
        }
    }
}
