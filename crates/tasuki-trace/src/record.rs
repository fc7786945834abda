//! What an endpoint writes down, in slots of one size.

use crate::error::PartError;

/// Bytes of a record.
pub const SLOT: usize = 40;

/// What tells an endpoint of a job from all others, for instance its address. At most 32 bytes; shorter ones
/// are filled with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name(pub [u8; 32]);

/// One entry of a part. Times are nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// From here on this number stands for the endpoint of this name.
    Peer {
        /// The number.
        peer: u32,
        /// The endpoint.
        name: Name,
    },
    /// A message was handed over.
    Send(Message),
    /// A message was taken by the program.
    Receive(Message),
    /// The endpoint was closed: the part is whole.
    End {
        /// When, on the host's monotonic clock.
        at: u64,
        /// Computing since the record before.
        compute: u64,
        /// One-sided operations, which are not recorded.
        one_sided: u64,
    },
}

/// A message as one of its ends sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Number of the other end, as a record [`Record::Peer`] before this one says.
    pub peer: u32,
    /// Its tag; `None`: a message of the untagged queue.
    pub tag: Option<u64>,
    /// Length as sent.
    pub bytes: u64,
    /// When, on the host's monotonic clock.
    pub at: u64,
    /// What this process has computed since the record before.
    pub compute: u64,
}

const PEER: u8 = 1;
const SEND: u8 = 2;
const RECEIVE: u8 = 4;
const END: u8 = 6;
/// Added to the kind of a message that has a tag.
const TAGGED: u8 = 1;

impl Record {
    /// Appends the record to a part.
    pub fn put(&self, part: &mut Vec<u8>) {
        let (kind, peer, words) = match *self {
            Record::Peer { peer, name } => {
                put_head(part, PEER, peer);
                return part.extend(name.0);
            }
            Record::Send(message) => (SEND, message.peer, message.words()),
            Record::Receive(message) => (RECEIVE, message.peer, message.words()),
            Record::End { at, compute, one_sided } => (END, 0, [one_sided, 0, at, compute]),
        };
        let tagged =
            matches!(self, Record::Send(message) | Record::Receive(message) if message.tag.is_some());
        put_head(part, if tagged { kind + TAGGED } else { kind }, peer);
        words.iter().for_each(|word| part.extend(word.to_le_bytes()));
    }

    /// Reads a record.
    ///
    /// # Errors
    /// If it is of no known kind.
    pub fn read(slot: &[u8; SLOT]) -> Result<Record, PartError> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| slot[at + byte]));
        let (kind, peer) = (slot[0], (word(0) >> 32) as u32);
        let message = |tagged: bool| Message {
            peer,
            tag: tagged.then(|| word(16)),
            bytes: word(8),
            at: word(24),
            compute: word(32),
        };
        Ok(match kind {
            PEER => Record::Peer { peer, name: Name(std::array::from_fn(|byte| slot[8 + byte])) },
            SEND => Record::Send(message(false)),
            RECEIVE => Record::Receive(message(false)),
            END => Record::End { one_sided: word(8), at: word(24), compute: word(32) },
            _ if kind == SEND + TAGGED => Record::Send(message(true)),
            _ if kind == RECEIVE + TAGGED => Record::Receive(message(true)),
            _ => return Err(PartError::Kind(kind)),
        })
    }
}

impl Message {
    fn words(&self) -> [u64; 4] {
        [self.bytes, self.tag.unwrap_or(0), self.at, self.compute]
    }
}

fn put_head(part: &mut Vec<u8>, kind: u8, peer: u32) {
    part.extend([kind, 0, 0, 0]);
    part.extend(peer.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were_put() {
        let message = Message { peer: u32::MAX, tag: Some(u64::MAX), bytes: 1 << 40, at: 7, compute: 9 };
        let all = [
            Record::Peer { peer: 3, name: Name(std::array::from_fn(|byte| byte as u8)) },
            Record::Send(message),
            Record::Send(Message { tag: None, ..message }),
            Record::Receive(message),
            Record::Receive(Message { tag: None, ..message }),
            Record::End { at: 1, compute: 2, one_sided: 3 },
        ];
        let mut part = Vec::new();
        all.iter().for_each(|record| record.put(&mut part));
        assert_eq!(part.len(), all.len() * SLOT);
        let read: Result<Vec<_>, _> = part.as_chunks().0.iter().map(Record::read).collect();
        assert_eq!(read, Ok(all.to_vec()));
        assert_eq!(Record::read(&[0; SLOT]), Err(PartError::Kind(0)));
    }
}
