//! What the two sides of a stream say to each other: `docs/wire.md`, "Streams". The kinds go on from those of length-coded bulk, with which they share a tag.

/// Proves on a new stream whose it is.
pub(crate) type Token = [u8; 16];

/// By this notes name a stream: words about one that is over may come when there is another.
pub(crate) fn name(token: &Token) -> u32 {
    let [a, b, c, d, ..] = *token;
    u32::from_le_bytes([a, b, c, d])
}

/// One note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// Taker: open a stream to this port of mine on this rail; it begins with this token.
    Invite { rail: u8, port: u16, token: Token },
    /// Taker: send these bytes of the message that you call `key`, behind what I have asked for before.
    Pull { stream: u32, key: u64, offset: u64, len: u64 },
    /// Either: I have closed this stream, or do not open it.
    Over { stream: u32 },
}

const INVITE: u8 = 8;
const PULL: u8 = 9;
const OVER: u8 = 10;

/// Whether a note is one of these.
pub(crate) fn is_stream(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(INVITE..=OVER))
}

impl Note {
    /// As it travels, integers little-endian: the kind, and its fields in order.
    pub fn write(&self, into: &mut Vec<u8>) {
        match self {
            Note::Invite { rail, port, token } => {
                into.extend([INVITE, *rail]);
                into.extend(port.to_le_bytes());
                into.extend(token);
            }
            Note::Pull { stream, key, offset, len } => {
                into.push(PULL);
                into.extend(stream.to_le_bytes());
                [key, offset, len].into_iter().for_each(|field| into.extend(field.to_le_bytes()));
            }
            Note::Over { stream } => {
                into.push(OVER);
                into.extend(stream.to_le_bytes());
            }
        }
    }

    /// Reads a note; `None` if it is none.
    pub fn read(bytes: &[u8]) -> Option<Note> {
        let (&kind, rest) = bytes.split_first()?;
        match kind {
            INVITE => {
                let [rail, low, high, token @ ..]: [u8; 19] = rest.try_into().ok()?;
                Some(Note::Invite { rail, port: u16::from_le_bytes([low, high]), token })
            }
            PULL => {
                let (stream, rest) = stream_of(rest)?;
                let [key, offset, len] = fields_of(rest)?;
                Some(Note::Pull { stream, key, offset, len })
            }
            OVER => {
                let (stream, rest) = stream_of(rest)?;
                rest.is_empty().then_some(Note::Over { stream })
            }
            _ => None,
        }
    }
}

fn stream_of(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (stream, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*stream), rest))
}

fn fields_of(bytes: &[u8]) -> Option<[u64; 3]> {
    let bytes: [u8; 24] = bytes.try_into().ok()?;
    let field = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]));
    Some(std::array::from_fn(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_and_nonsense_does_not() {
        let token = std::array::from_fn(|at| at as u8);
        let notes = [
            Note::Invite { rail: 31, port: 65_535, token },
            Note::Pull { stream: 7, key: u64::MAX, offset: 3, len: 1 << 40 },
            Note::Over { stream: u32::MAX },
        ];
        for note in notes {
            let mut bytes = Vec::new();
            note.write(&mut bytes);
            assert!(is_stream(&bytes) && tasuki_bulk::ControlMessage::read(&bytes).is_none());
            assert_eq!(Note::read(&bytes), Some(note));
            bytes.push(0);
            assert_eq!(Note::read(&bytes), None, "{note:?}: a byte too many");
            bytes.truncate(bytes.len() - 2);
            assert_eq!(Note::read(&bytes), None, "{note:?}: a byte too few");
        }
        assert!(!is_stream(&[]) && !is_stream(&[7]) && !is_stream(&[11]));
    }
}
