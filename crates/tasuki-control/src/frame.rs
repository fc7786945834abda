//! Frames: a length and a message.

use serde::{Serialize, de::DeserializeOwned};
use thiserror::Error;

/// Most bytes of a message. An environment with arguments has at most about 2 MiB (execve(2)).
pub const FRAME_MAX: usize = 4 << 20;

/// Bytes of the length before a message.
const PREFIX: usize = 4;

/// Why a frame cannot be read or written. The connection is of no use then.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A message is too long.
    #[error("a message of {0} bytes is longer than {FRAME_MAX}")]
    Long(usize),
    /// The bytes are no message.
    #[error("what came is no message: {0}")]
    Malformed(String),
}

/// Appends a message as a frame.
///
/// # Errors
/// If it is longer than [`FRAME_MAX`]; nothing is appended then.
pub fn write(message: &impl Serialize, out: &mut Vec<u8>) -> Result<(), FrameError> {
    let begin = out.len();
    out.extend([0; PREFIX]);
    // Writing into memory fails for types alone that have no encoding, of which messages have none.
    let written = postcard::to_extend(message, std::mem::take(out));
    *out = written.map_err(|error| FrameError::Malformed(error.to_string()))?;
    let length = out.len() - begin - PREFIX;
    if length > FRAME_MAX {
        out.truncate(begin);
        return Err(FrameError::Long(length));
    }
    out[begin..begin + PREFIX].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(())
}

/// Bytes of a connection, cut into frames.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// Bytes that have been read already.
    done: usize,
}

impl Frames {
    /// Takes what has come.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.done > 0 {
            self.bytes.drain(..self.done);
            self.done = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes that have not been read yet.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.done..]
    }

    /// Passes over bytes that were read otherwise, at most all that there are.
    pub fn skip(&mut self, bytes: usize) {
        self.done = (self.done + bytes).min(self.bytes.len());
    }

    /// The next message; `None`: it has not come as a whole yet.
    ///
    /// # Errors
    /// If what has come is no frame or no such message.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let rest = self.rest();
        let Some((prefix, body)) = rest.split_first_chunk::<PREFIX>() else { return Ok(None) };
        let length = u32::from_le_bytes(*prefix) as usize;
        if length > FRAME_MAX {
            return Err(FrameError::Long(length));
        }
        let Some(body) = body.get(..length) else { return Ok(None) };
        let malformed = |what: String| FrameError::Malformed(what);
        let (message, left) =
            postcard::take_from_bytes(body).map_err(|error| malformed(error.to_string()))?;
        if !left.is_empty() {
            return Err(malformed(format!("{} bytes stand behind it", left.len())));
        }
        self.skip(PREFIX + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Order, Reply, Report, Request};
    use proptest::prelude::*;

    #[test]
    fn messages_arrive_whole_and_in_order_however_they_are_cut() {
        let (mut bytes, mut frames, mut got) = (Vec::new(), Frames::default(), Vec::new());
        for job in 1..=40 {
            write(&Request::Cancel { job }, &mut bytes).unwrap();
        }
        for piece in bytes.chunks(7) {
            frames.feed(piece);
            while let Some(Request::Cancel { job }) = frames.take().unwrap() {
                got.push(job);
            }
        }
        assert_eq!(got, (1..=40).collect::<Vec<_>>());
        assert!(frames.rest().is_empty());
    }

    #[test]
    fn what_is_too_long_is_neither_written_nor_waited_for() {
        let mut out = vec![7];
        let long = vec![0u8; FRAME_MAX + 1];
        assert!(matches!(write(&long, &mut out), Err(FrameError::Long(_))));
        assert_eq!(out, [7], "nothing is left of it");
        let mut frames = Frames::default();
        frames.feed(&(FRAME_MAX as u32 + 1).to_le_bytes());
        assert_eq!(frames.take::<Request>(), Err(FrameError::Long(FRAME_MAX + 1)));
    }

    #[test]
    fn bytes_behind_a_message_are_refused() {
        let mut bytes = Vec::new();
        write(&(Request::Hosts, 1u8), &mut bytes).unwrap();
        let mut frames = Frames::default();
        frames.feed(&bytes);
        assert!(matches!(frames.take::<Request>(), Err(FrameError::Malformed(_))));
    }

    /// Whatever comes, reading ends with a message, with the wish for more bytes or with an error.
    fn read_all(bytes: &[u8]) {
        fn read<T: DeserializeOwned>(bytes: &[u8]) {
            let mut frames = Frames::default();
            frames.feed(bytes);
            while let Ok(Some(_)) = frames.take::<T>() {}
        }
        read::<Request>(bytes);
        read::<Reply>(bytes);
        read::<Order>(bytes);
        read::<Report>(bytes);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            read_all(&bytes);
            let mut framed = (bytes.len() as u32).to_le_bytes().to_vec();
            framed.extend(&bytes);
            read_all(&framed);
        }

        #[test]
        fn a_changed_frame_is_read_or_refused(at in 0usize..200, by in 1u8..) {
            let mut bytes = Vec::new();
            write(&Report::sample(), &mut bytes).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= by;
            read_all(&bytes);
        }
    }
}
