//! Notes: bytes that one process tells all others, as a parallel region that begins. A page that all read
//! would take each of them a request and an answer.

use std::collections::VecDeque;

use tasuki_engine::{Buffer, Endpoint};

use crate::core::Core;
use crate::send::send_now;

/// What a note begins with; no message of the protocol does.
const KIND: u8 = 0x80;
/// The longest note.
pub(crate) const LONGEST: usize = 2048;
/// Notes that may wait to be heard: a process that is told more is told by one that does not wait for others.
const WAITING_MAX: usize = 1024;

/// Notes that have come and that no thread has heard yet.
#[derive(Default)]
pub(crate) struct Notes(VecDeque<Box<[u8]>>);

impl Notes {
    /// The next one.
    pub fn next(&mut self) -> Option<Box<[u8]>> {
        self.0.pop_front()
    }
}

impl Core {
    /// Takes a message if it is a note.
    pub fn take_note(&mut self, rank: usize, bytes: &[u8]) -> Result<bool, String> {
        let Some((&KIND, note)) = bytes.split_first() else { return Ok(false) };
        if self.notes.0.len() >= WAITING_MAX || note.len() > LONGEST {
            return Err(format!("rank {rank} tells more than it may"));
        }
        self.notes.0.push_back(note.into());
        self.news = true;
        Ok(true)
    }

    /// Tells all other processes.
    pub fn tell_all(&self, note: &[u8], endpoint: &Endpoint) -> Result<(), String> {
        let mut bytes = vec![KIND];
        bytes.extend_from_slice(note);
        for (rank, peer) in self.peers.iter().enumerate() {
            let Some(peer) = *peer else { continue };
            let buffers = [Buffer { ptr: bytes.as_mut_ptr(), len: bytes.len() }];
            // SAFETY: the bytes live and are not changed until this returns.
            unsafe { send_now(peer, &buffers, false, endpoint) }
                .map_err(|error| format!("rank {rank}: {error}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::KIND;
    use tasuki_dsm::Message;

    #[test]
    fn no_message_of_the_protocol_looks_like_a_note() {
        let mut bytes = [0; Message::LEN];
        bytes[0] = KIND;
        assert!(Message::from_bytes(&bytes).is_err());
    }
}
