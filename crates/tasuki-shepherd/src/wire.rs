//! Messages as bytes: a length (4 bytes, little endian, of what follows it), a kind, and a body, which is
//! JSON except for ranks' output and input, whose bytes go as they are.

use crate::{Command, Event, JobSpec, Stream};
use serde::{Serialize, de::DeserializeOwned};

/// Longest message, in bytes. The longest real one is the result of a fence of thousands of ranks.
const LENGTH_MAX: usize = 256 << 20;

const JSON: u8 = 0;
const OUTPUT: u8 = 1;
const INPUT: u8 = 2;
/// Bytes before those of an input: the place of the first one.
const INPUT_HEAD: usize = 8;
/// Bytes before the text of an output: rank (4), stream, whether its last line is whole.
const OUTPUT_HEAD: usize = 6;

/// A message that can go over the socket.
pub trait Message: Sized {
    /// The message's bytes.
    fn encode(&self) -> Vec<u8>;
    /// Reads a message of this kind.
    ///
    /// # Errors
    /// What is wrong with it.
    fn decode(kind: u8, body: &[u8]) -> Result<Self, String>;
}

fn frame(kind: u8, parts: [&[u8]; 2]) -> Vec<u8> {
    let length = parts[0].len() + parts[1].len() + 1;
    let mut bytes = Vec::with_capacity(length + 4);
    bytes.extend_from_slice(&(length as u32).to_le_bytes());
    bytes.push(kind);
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

fn json(message: &impl Serialize) -> Vec<u8> {
    // These types have no maps with keys that are not text, which alone JSON cannot hold.
    frame(JSON, [&serde_json::to_vec(message).unwrap_or_default(), &[]])
}

fn from_json<T: DeserializeOwned>(kind: u8, body: &[u8]) -> Result<T, String> {
    if kind != JSON {
        return Err(format!("a message of kind {kind}"));
    }
    serde_json::from_slice(body).map_err(|error| error.to_string())
}

impl Message for JobSpec {
    fn encode(&self) -> Vec<u8> {
        json(self)
    }

    fn decode(kind: u8, body: &[u8]) -> Result<Self, String> {
        from_json(kind, body)
    }
}

impl Message for Command {
    fn encode(&self) -> Vec<u8> {
        match self {
            Command::Input { at, bytes } => frame(INPUT, [&at.to_le_bytes(), bytes]),
            other => json(other),
        }
    }

    fn decode(kind: u8, body: &[u8]) -> Result<Self, String> {
        match kind {
            INPUT => {
                let (at, bytes) = body.split_first_chunk::<INPUT_HEAD>().ok_or("an input that is cut")?;
                Ok(Command::Input { at: u64::from_le_bytes(*at), bytes: bytes.to_vec() })
            }
            kind => from_json(kind, body),
        }
    }
}

impl Message for Event {
    fn encode(&self) -> Vec<u8> {
        match self {
            Event::Output { rank, stream, bytes, whole } => {
                let mut head = [0; OUTPUT_HEAD];
                head[..4].copy_from_slice(&rank.to_le_bytes());
                head[4] = u8::from(*stream == Stream::Err);
                head[5] = u8::from(*whole);
                frame(OUTPUT, [&head, bytes])
            }
            other => json(other),
        }
    }

    fn decode(kind: u8, body: &[u8]) -> Result<Self, String> {
        if kind != OUTPUT {
            return from_json(kind, body);
        }
        let (head, bytes) = body.split_first_chunk::<OUTPUT_HEAD>().ok_or("an output that is cut")?;
        Ok(Event::Output {
            rank: u32::from_le_bytes([head[0], head[1], head[2], head[3]]),
            stream: if head[4] == 0 { Stream::Out } else { Stream::Err },
            bytes: bytes.to_vec(),
            whole: head[5] != 0,
        })
    }
}

/// Bytes that have come, of which whole messages are taken.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// Where the first message begins that was not taken.
    start: usize,
}

impl Inbox {
    /// Adds bytes that have come.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether a message has come whole, or what cannot be one.
    pub fn is_ready(&self) -> bool {
        let Some((length, rest)) = self.bytes[self.start..].split_first_chunk::<4>() else { return false };
        let length = u32::from_le_bytes(*length) as usize;
        length == 0 || length > LENGTH_MAX || length <= rest.len()
    }

    /// The next message, if it has come whole.
    ///
    /// # Errors
    /// If it is none.
    pub fn take<T: Message>(&mut self) -> Result<Option<T>, String> {
        let Some((length, rest)) = self.bytes[self.start..].split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 || length > LENGTH_MAX {
            return Err(format!("a message of {length} bytes"));
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let message = T::decode(message[0], &message[1..])?;
        self.start += 4 + length;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_as_they_went_in_wherever_they_are_cut() {
        let all = [
            Event::Output { rank: 70_000, stream: Stream::Err, bytes: vec![0, 255, b'\n'], whole: true },
            Event::InputClosed,
            Event::Output { rank: 1, stream: Stream::Out, bytes: Vec::new(), whole: false },
            Event::RankEnded { rank: 3, end: crate::End::Signal(9) },
        ];
        let bytes: Vec<u8> = all.iter().flat_map(Message::encode).collect();
        for step in [1, 7, bytes.len()] {
            let mut inbox = Inbox::default();
            let mut found = Vec::new();
            for part in bytes.chunks(step) {
                inbox.extend(part);
                loop {
                    let is_ready = inbox.is_ready();
                    let event = inbox.take::<Event>().unwrap();
                    assert_eq!(event.is_some(), is_ready);
                    let Some(event) = event else { break };
                    found.push(event);
                }
            }
            assert_eq!(found, all);
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for bytes in [&[0, 0, 0, 0][..], &[255, 255, 255, 255], &[1, 0, 0, 0, 9], &[2, 0, 0, 0, 1, 0]] {
            let mut inbox = Inbox::default();
            inbox.extend(bytes);
            assert!(inbox.is_ready() && inbox.take::<Event>().is_err(), "{bytes:?}");
        }
    }
}
