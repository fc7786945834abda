//! Notes: bytes that one process tells all others, as a parallel region that begins. A page that all read
//! would take each of them a request and an answer. So it tells why the memory is lost.

use std::collections::VecDeque;

use tasuki_engine::{Buffer, Endpoint};

use crate::core::Core;
use crate::send::send_now;

/// What a note begins with; no message of the protocol does.
const KIND: u8 = 0x80;
/// What the reason begins with for which a process has lost the memory.
const LOSS: u8 = 0x81;
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
    /// Takes a message if it is a note. An error says why the memory is lost.
    pub fn take_note(&mut self, rank: usize, bytes: &[u8]) -> Result<bool, String> {
        let note = match bytes.split_first() {
            Some((&KIND, note)) => note,
            Some((&LOSS, _)) if self.leaving => {
                (self.dismissed, self.news) = (true, true);
                return Ok(true);
            }
            Some((&LOSS, why)) => return Err(told_by(rank, why)),
            _ => return Ok(false),
        };
        if self.notes.0.len() >= WAITING_MAX || note.len() > LONGEST {
            return Err(format!("rank {rank} tells more than it may"));
        }
        self.notes.0.push_back(note.into());
        self.news = true;
        Ok(true)
    }

    /// Tells all other processes why the memory is lost: each names what was lost first, and not this
    /// process, which may end now.
    pub fn tell_loss(&self, why: &str, endpoint: &Endpoint) {
        let mut bytes = vec![LOSS];
        bytes.extend(why.bytes().take(LONGEST));
        for peer in self.peers.iter().flatten() {
            let buffers = [Buffer { ptr: bytes.as_mut_ptr(), len: bytes.len() }];
            // One that cannot be told learns by itself that the memory is lost.
            // SAFETY: the bytes live and are not changed until this returns.
            let _ = unsafe { send_now(*peer, &buffers, false, endpoint) };
        }
        endpoint.progress();
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

/// Stands between a reason and the process that has told it.
const SAYS: &str = ", as rank ";

/// The reason as a process tells it: with who says so, which is whoever has found out.
fn told_by(rank: usize, why: &[u8]) -> String {
    let why = String::from_utf8_lossy(&why[..why.len().min(LONGEST)]);
    if why.contains(SAYS) { why.into_owned() } else { format!("{why}{SAYS}{rank} says") }
}

#[cfg(test)]
mod tests {
    use super::{KIND, LONGEST, LOSS, told_by};
    use tasuki_dsm::Message;

    #[test]
    fn no_message_of_the_protocol_looks_like_a_note() {
        for kind in [KIND, LOSS] {
            let mut bytes = [0; Message::LEN];
            bytes[0] = kind;
            assert!(Message::from_bytes(&bytes).is_err());
        }
    }

    #[test]
    fn a_loss_is_told_on_with_who_has_found_it() {
        let first = told_by(3, b"rank 2 is gone: refused");
        assert_eq!(first, "rank 2 is gone: refused, as rank 3 says");
        assert_eq!(told_by(1, first.as_bytes()), first);
        assert!(told_by(1, &[0xff; LONGEST + 9]).ends_with(", as rank 1 says"), "any bytes are a reason");
    }
}
