//! A rank, as its shepherd has it.

use crate::{
    End, RankState, Stream,
    outbox::Outbox,
    output::{Lines, Piece},
};
use nix::{errno::Errno, unistd::read};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Instant,
};

/// Bytes that are read at once.
const READ: usize = 64 << 10;
/// A rank that does not read its answers is not read from, either, beyond so many bytes of them.
const ANSWERS_MAX: usize = 256 << 10;

/// One of a rank's streams.
#[derive(Debug)]
pub struct Source {
    /// Which.
    pub stream: Stream,
    /// The shepherd's end of its pipe, which does not block; `None`: it was at its end.
    pub pipe: Option<OwnedFd>,
    /// Its lines.
    pub lines: Lines,
}

/// The connection to a rank's PMI client.
#[derive(Debug)]
pub struct PmiLink {
    /// The shepherd's end, which does not block; `None`: it is over.
    pub socket: Option<OwnedFd>,
    /// Answers on their way.
    pub answers: Outbox,
}

/// A rank.
#[derive(Debug)]
pub struct Rank {
    /// Its number, its process and its end.
    pub state: RankState,
    /// Its standard output and standard error.
    pub sources: [Source; 2],
    /// Its PMI connection.
    pub pmi: PmiLink,
}

impl Source {
    /// A stream of a rank that was just started.
    pub fn new(stream: Stream, pipe: OwnedFd) -> Self {
        Self { stream, pipe: Some(pipe), lines: Lines::default() }
    }

    /// Reads once. Returns what can be passed on.
    pub fn read(&mut self, buffer: &mut Vec<u8>, now: Instant) -> Option<Piece> {
        let pipe = self.pipe.as_ref()?;
        match read_some(pipe.as_fd(), buffer) {
            Ok(0) => {
                self.pipe = None;
                self.lines.rest()
            }
            Ok(count) => self.lines.take(&buffer[..count], now),
            Err(Errno::EAGAIN | Errno::EINTR) => None,
            Err(_) => {
                self.pipe = None;
                self.lines.rest()
            }
        }
    }
}

impl PmiLink {
    /// Whether more may be read from the rank.
    pub fn is_wanted(&self) -> bool {
        self.socket.is_some() && self.answers.len() < ANSWERS_MAX
    }

    /// Reads once. `Some(0)`: the connection is at its end; `None`: nothing is there.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> Option<usize> {
        match read_some(self.socket.as_ref()?.as_fd(), buffer) {
            Ok(0) => {
                self.close();
                Some(0)
            }
            Ok(count) => Some(count),
            Err(Errno::EAGAIN | Errno::EINTR) => None,
            Err(_) => {
                self.close();
                Some(0)
            }
        }
    }

    /// Sends what the rank takes now.
    pub fn flush(&mut self) {
        let Some(socket) = &self.socket else { return };
        if self.answers.flush(socket).is_err() {
            // Its reading side tells the end of the connection.
            self.answers.clear();
        }
    }

    /// Ends the connection.
    pub fn close(&mut self) {
        self.socket = None;
        self.answers.clear();
    }
}

impl Rank {
    /// Whether its process runs.
    pub fn lives(&self) -> bool {
        self.state.end.is_none()
    }

    /// Notes how its process ended.
    pub fn ended(&mut self, end: End) {
        self.state.end = Some(end);
    }
}

fn read_some(from: BorrowedFd<'_>, buffer: &mut Vec<u8>) -> nix::Result<usize> {
    buffer.resize(READ, 0);
    read(from, buffer)
}
