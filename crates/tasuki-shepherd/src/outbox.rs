//! Bytes that wait until a descriptor takes them.

use nix::{errno::Errno, unistd::write};
use std::{collections::VecDeque, os::fd::AsFd};

/// Bytes on their way to a descriptor that does not block.
#[derive(Debug, Default)]
pub struct Outbox {
    parts: VecDeque<Vec<u8>>,
    /// Bytes of the first part that were written.
    written: usize,
    len: usize,
}

impl Outbox {
    /// Adds bytes at the end.
    pub fn push(&mut self, bytes: Vec<u8>) {
        self.len += bytes.len();
        self.parts.push_back(bytes);
    }

    /// Number of bytes that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Drops all bytes. Returns how many there were.
    pub fn clear(&mut self) -> usize {
        let len = self.len;
        *self = Self::default();
        len
    }

    /// Writes what the descriptor takes now. Returns how many bytes that were.
    ///
    /// # Errors
    /// If the descriptor takes no more for ever, for instance because its other end is closed.
    pub fn flush(&mut self, to: impl AsFd) -> Result<usize, Errno> {
        self.flush_by(|bytes| write(to.as_fd(), bytes))
    }

    /// Hands bytes to a call, which says how many it has taken, until it takes no more now (`EAGAIN`).
    /// Returns how many bytes it took.
    ///
    /// # Errors
    /// Any other that the call has, but `EINTR`.
    pub fn flush_by(&mut self, take: impl Fn(&[u8]) -> Result<usize, Errno>) -> Result<usize, Errno> {
        let mut total = 0;
        while let Some(first) = self.parts.front() {
            match take(&first[self.written..]) {
                Ok(count) => {
                    total += count;
                    self.written += count;
                    self.len -= count;
                    if self.written == first.len() {
                        self.parts.pop_front();
                        self.written = 0;
                    }
                }
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(total)
    }
}
