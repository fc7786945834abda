//! The way of commands to a shepherd.

use crate::{Command, outbox::Outbox, wire::Message};
use nix::sys::socket::{MsgFlags, send};
use std::{
    io,
    os::{fd::AsRawFd, unix::net::UnixStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Sends commands to a shepherd, from any thread.
#[derive(Clone, Debug)]
pub struct Commands(Arc<Mutex<Line>>);

/// The way to a shepherd.
#[derive(Debug)]
struct Line {
    socket: UnixStream,
    outbox: Outbox,
}

impl Line {
    fn flush(&mut self, how: MsgFlags) -> io::Result<()> {
        let socket = self.socket.as_raw_fd();
        self.outbox.flush_by(|bytes| send(socket, bytes, how | MsgFlags::MSG_NOSIGNAL))?;
        Ok(())
    }
}

impl Commands {
    /// To the shepherd at the other end of a socket.
    pub(crate) fn to(socket: UnixStream) -> Self {
        Self(Arc::new(Mutex::new(Line { socket, outbox: Outbox::default() })))
    }

    /// Sends a command, and waits until the shepherd's socket has taken it. A shepherd that works reads
    /// commands at once, whatever its ranks do.
    ///
    /// # Errors
    /// If the shepherd is gone.
    pub fn send(&self, command: &Command) -> io::Result<()> {
        let mut line = self.line();
        line.outbox.push(command.encode());
        line.flush(MsgFlags::empty())
    }

    /// Sends a command without ever waiting: what the socket does not take now waits for [`Commands::flush`].
    ///
    /// # Errors
    /// If the shepherd is gone.
    pub fn post(&self, command: &Command) -> io::Result<()> {
        self.post_bytes(command.encode())
    }

    /// As [`Commands::post`], a message that is encoded already.
    pub(crate) fn post_bytes(&self, message: Vec<u8>) -> io::Result<()> {
        self.line().outbox.push(message);
        self.flush()
    }

    /// Sends what waits and the socket takes now.
    ///
    /// # Errors
    /// If the shepherd is gone.
    pub fn flush(&self) -> io::Result<()> {
        self.line().flush(MsgFlags::MSG_DONTWAIT)
    }

    /// Bytes of commands that wait until the shepherd reads.
    pub fn waiting(&self) -> usize {
        self.line().outbox.len()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
