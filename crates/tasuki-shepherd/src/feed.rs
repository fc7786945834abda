//! Standard input of rank 0.

use crate::{INPUT_WINDOW, outbox::Outbox};
use std::os::fd::OwnedFd;

/// What is on its way to rank 0.
#[derive(Debug, Default)]
pub struct Feed {
    pipe: Option<OwnedFd>,
    waiting: Outbox,
    at_end: bool,
    /// Bytes that have come from owners.
    received: u64,
    /// Bytes that were written, or dropped because nobody reads them.
    taken: u64,
}

/// What became of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fed {
    /// Bytes that were taken just now.
    pub taken: u64,
    /// Whether the reader has just gone.
    pub closed: bool,
}

impl Feed {
    /// Feeds this end of a pipe, which does not block.
    pub fn new(pipe: Option<OwnedFd>) -> Self {
        Self { pipe, ..Self::default() }
    }

    /// The pipe, if something waits to be written to it.
    pub fn wanted(&self) -> Option<&OwnedFd> {
        self.pipe.as_ref().filter(|_| !self.waiting.is_empty())
    }

    /// Bytes that were written, or dropped because nobody reads them.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes bytes from the owner, of which the first has this place. Those that have come before are passed
    /// over.
    ///
    /// # Errors
    /// If the owner sends more than it may, or leaves some out. They are dropped.
    pub fn push(&mut self, at: u64, bytes: &[u8]) -> Result<Fed, String> {
        let Some(known) = self.received.checked_sub(at) else {
            return Err(format!("input from byte {at} on, after {} bytes", self.received));
        };
        let bytes = bytes.get(usize::try_from(known).unwrap_or(usize::MAX)..).unwrap_or_default();
        if self.at_end || self.pipe.is_none() {
            self.received += bytes.len() as u64;
            return Ok(self.took(bytes.len()));
        }
        if self.waiting.len() + bytes.len() > INPUT_WINDOW {
            return Err(format!("more than {INPUT_WINDOW} bytes of input at once"));
        }
        self.received += bytes.len() as u64;
        self.waiting.push(bytes.to_vec());
        Ok(self.flush())
    }

    /// There is no more to come.
    pub fn end(&mut self) -> Fed {
        self.at_end = true;
        self.flush()
    }

    /// Writes what rank 0 takes now.
    pub fn flush(&mut self) -> Fed {
        let Some(pipe) = &self.pipe else { return Fed::default() };
        match self.waiting.flush(pipe) {
            Ok(taken) => {
                if self.at_end && self.waiting.is_empty() {
                    self.pipe = None;
                }
                self.took(taken)
            }
            Err(_) => {
                // The reader has closed its end. All that waited is dropped, written in part or not.
                self.pipe = None;
                self.taken = self.received;
                let waited = self.waiting.clear() as u64;
                Fed { taken: waited, closed: true }
            }
        }
    }

    fn took(&mut self, bytes: usize) -> Fed {
        self.taken += bytes as u64;
        Fed { taken: bytes as u64, closed: false }
    }
}
