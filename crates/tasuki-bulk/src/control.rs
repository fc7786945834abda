//! Control messages between the two sides of a transfer, on a channel that loses, changes and reorders
//! nothing: `docs/reference/wire.md`, "Length-coded bulk".

use crate::round::{PACKETS_MAX, Sizes};

/// Longest control message, bytes.
pub const CONTROL_MESSAGE_MAX: usize = 4096;

/// A run of consecutive packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Sequence number of the first.
    pub first: u16,
    /// Number of packets.
    pub count: u16,
}

impl Run {
    pub(crate) const BYTES: usize = 4;
    /// Most runs in one control message.
    pub(crate) const MOST: usize = 1000;
}

/// A control message. The receiver numbers the rounds; both sides count the passes of a round, in each of
/// which the sender sends all packets that are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlMessage {
    /// From the receiver: asks the sender to send to this UDP port on this rail.
    Open {
        /// The rail.
        rail: u8,
        /// UDP port.
        port: u16,
    },
    /// From the sender: it will send, from this port.
    Opened {
        /// UDP port.
        port: u16,
    },
    /// From the sender: it will not send.
    Refused,
    /// From the receiver: it is ready for these bytes of the message that the sender calls `key`.
    Pull {
        /// Number of the round.
        round: u32,
        /// The sender's name of the message.
        key: u64,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
        /// The lengths of the round's packets.
        sizes: Sizes,
    },
    /// From the sender: it has no such message, or no longer.
    Gone {
        /// Number of the round.
        round: u32,
    },
    /// From the sender: a pass is over.
    Sent {
        /// Number of the round.
        round: u32,
        /// Number of the pass, from 1.
        pass: u16,
        /// After the first pass, the CRC32C of every packet of the round; otherwise empty.
        checks: Vec<u32>,
    },
    /// From the receiver: it misses these packets.
    Resend {
        /// Number of the round.
        round: u32,
        /// The pass after which they are missing.
        pass: u16,
        /// The packets.
        missing: Vec<Run>,
    },
}

const OPEN: u8 = 1;
const OPENED: u8 = 2;
const REFUSED: u8 = 3;
const PULL: u8 = 4;
const GONE: u8 = 5;
const SENT: u8 = 6;
const RESEND: u8 = 7;

impl ControlMessage {
    /// Appends the message as it travels: the kind, and its fields in order; integers are little-endian.
    pub fn write(&self, into: &mut Vec<u8>) {
        match self {
            ControlMessage::Open { rail, port } => {
                into.extend([OPEN, *rail]);
                into.extend(port.to_le_bytes());
            }
            ControlMessage::Opened { port } => {
                into.push(OPENED);
                into.extend(port.to_le_bytes());
            }
            ControlMessage::Refused => into.push(REFUSED),
            ControlMessage::Pull { round, key, offset, len, sizes } => {
                into.push(PULL);
                into.extend(round.to_le_bytes());
                [key, offset, len].into_iter().for_each(|field| into.extend(field.to_le_bytes()));
                into.extend((sizes.first() as u16).to_le_bytes());
                into.extend(sizes.packets().to_le_bytes());
            }
            ControlMessage::Gone { round } => {
                into.push(GONE);
                into.extend(round.to_le_bytes());
            }
            ControlMessage::Sent { round, pass, checks } => {
                into.push(SENT);
                into.extend(round.to_le_bytes());
                into.extend(pass.to_le_bytes());
                checks.iter().for_each(|check| into.extend(check.to_le_bytes()));
            }
            ControlMessage::Resend { round, pass, missing } => {
                into.push(RESEND);
                into.extend(round.to_le_bytes());
                into.extend(pass.to_le_bytes());
                missing
                    .iter()
                    .flat_map(|run| [run.first, run.count])
                    .for_each(|field| into.extend(field.to_le_bytes()));
            }
        }
    }

    /// Reads a control message; `None` if the bytes are none.
    pub fn read(bytes: &[u8]) -> Option<ControlMessage> {
        let (&kind, rest) = bytes.split_first()?;
        let mut rest = Fields(rest);
        let message = match kind {
            OPEN => ControlMessage::Open {
                rail: u8::from_le_bytes(rest.next()?),
                port: u16::from_le_bytes(rest.next()?),
            },
            OPENED => ControlMessage::Opened { port: u16::from_le_bytes(rest.next()?) },
            REFUSED => ControlMessage::Refused,
            PULL => {
                let round = u32::from_le_bytes(rest.next()?);
                let [key, offset, len] = [rest.next()?, rest.next()?, rest.next()?].map(u64::from_le_bytes);
                let [first, packets] = [rest.next()?, rest.next()?].map(u16::from_le_bytes);
                ControlMessage::Pull { round, key, offset, len, sizes: Sizes::new(first, packets)? }
            }
            GONE => ControlMessage::Gone { round: u32::from_le_bytes(rest.next()?) },
            SENT => {
                let (round, pass) = (u32::from_le_bytes(rest.next()?), u16::from_le_bytes(rest.next()?));
                let mut checks = Vec::with_capacity(rest.0.len() / 4);
                while !rest.0.is_empty() {
                    checks.push(u32::from_le_bytes(rest.next()?));
                }
                (checks.len() <= PACKETS_MAX.into()).then_some(ControlMessage::Sent {
                    round,
                    pass,
                    checks,
                })?
            }
            RESEND => {
                let (round, pass) = (u32::from_le_bytes(rest.next()?), u16::from_le_bytes(rest.next()?));
                let mut missing = Vec::with_capacity(rest.0.len() / Run::BYTES);
                while !rest.0.is_empty() {
                    let [first, count] = [rest.next()?, rest.next()?].map(u16::from_le_bytes);
                    missing.push(Run { first, count });
                }
                (missing.len() <= Run::MOST).then_some(ControlMessage::Resend { round, pass, missing })?
            }
            _ => return None,
        };
        rest.0.is_empty().then_some(message)
    }
}

/// The bytes that have not been read yet.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn next<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_and_nonsense_does_not() {
        let sizes = Sizes::new(8972, 1000).unwrap();
        let messages = [
            ControlMessage::Open { rail: 31, port: 65_535 },
            ControlMessage::Opened { port: 1 },
            ControlMessage::Refused,
            ControlMessage::Pull { round: 7, key: u64::MAX, offset: 3, len: 4, sizes },
            ControlMessage::Gone { round: u32::MAX },
            ControlMessage::Sent { round: 1, pass: 2, checks: vec![3; PACKETS_MAX.into()] },
            ControlMessage::Sent { round: 1, pass: 2, checks: vec![] },
            ControlMessage::Resend {
                round: 1,
                pass: 2,
                missing: vec![Run { first: 3, count: 4 }; Run::MOST],
            },
        ];
        for message in messages {
            let mut bytes = Vec::new();
            message.write(&mut bytes);
            assert!(bytes.len() <= CONTROL_MESSAGE_MAX);
            assert_eq!(ControlMessage::read(&bytes), Some(message.clone()));
            bytes.push(0);
            assert_eq!(ControlMessage::read(&bytes), None, "{message:?}: a byte too many");
            bytes.truncate(bytes.len() - 2);
            assert_eq!(ControlMessage::read(&bytes), None, "{message:?}: a byte too few");
        }
        assert_eq!(
            (ControlMessage::read(&[]), ControlMessage::read(&[0]), ControlMessage::read(&[8, 0, 0])),
            (None, None, None)
        );
        let mut take = vec![PULL; 33];
        take[29..].fill(0);
        assert_eq!(ControlMessage::read(&take), None, "packets without length");
    }
}
