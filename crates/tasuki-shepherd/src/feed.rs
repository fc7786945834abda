//! Standard input of rank 0.

use crate::{INPUT_WINDOW, outbox::Outbox};
use std::os::fd::OwnedFd;

/// What is on its way to rank 0.
#[derive(Debug, Default)]
pub struct Feed {
    pipe: Option<OwnedFd>,
    waiting: Outbox,
    at_end: bool,
}

/// What became of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fed {
    /// Bytes that were written, or dropped because nobody reads them.
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

    /// Takes bytes from the owner.
    ///
    /// # Errors
    /// If the owner sends more than it may. They are dropped.
    pub fn push(&mut self, bytes: Vec<u8>) -> Result<Fed, String> {
        if self.at_end || self.pipe.is_none() {
            return Ok(Fed { taken: bytes.len() as u64, closed: false });
        }
        if self.waiting.len() + bytes.len() > INPUT_WINDOW {
            return Err(format!("more than {INPUT_WINDOW} bytes of input at once"));
        }
        self.waiting.push(bytes);
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
        let fed = match self.waiting.flush(pipe) {
            Ok(taken) => Fed { taken: taken as u64, closed: false },
            Err(_) => {
                // The reader has closed its end. All that waited is dropped, written in part or not.
                let taken = self.waiting.clear() as u64;
                self.pipe = None;
                return Fed { taken, closed: true };
            }
        };
        if self.at_end && self.waiting.is_empty() {
            self.pipe = None;
        }
        fed
    }
}
