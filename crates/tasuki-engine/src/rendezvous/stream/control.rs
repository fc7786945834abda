//! Control messages about streams: their format is in `docs/reference/wire.md`, "Streams". Their kinds follow
//! those of length-coded bulk, with which they share a tag.

/// The first bytes of a new stream. They prove that it comes from the invited peer.
pub(crate) type Token = [u8; 16];

/// The name of a stream in control messages. It is needed because a message about a stream that is over may
/// arrive when there is another.
pub(crate) fn name(token: &Token) -> u32 {
    let [a, b, c, d, ..] = *token;
    u32::from_le_bytes([a, b, c, d])
}

/// One control message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlMessage {
    /// From the receiver: open a stream to this port of mine on this rail; it begins with this token. `known`
    /// is the name of the last invitation of yours that I had received by then, 0 if there was none: by it an
    /// invitation that crosses another one is recognised, however late it arrives.
    Invite { rail: u8, port: u16, token: Token, known: u32 },
    /// From the receiver: send these bytes of the message with this key, behind those that I have asked for
    /// before.
    Pull { stream: u32, key: u64, offset: u64, len: u64 },
    /// From either: this stream is over for me, or I do not open it. I have received so many bytes by it,
    /// heads included, and shall receive no more.
    Over { stream: u32, received: u64 },
}

const INVITE: u8 = 8;
const PULL: u8 = 9;
const OVER: u8 = 10;

/// Whether a control message is about streams.
pub(crate) fn is_stream(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(INVITE..=OVER))
}

impl ControlMessage {
    /// Appends the message: its kind, and its fields in order, little-endian.
    pub fn write(&self, into: &mut Vec<u8>) {
        match self {
            ControlMessage::Invite { rail, port, token, known } => {
                into.extend([INVITE, *rail]);
                into.extend(port.to_le_bytes());
                into.extend(token);
                into.extend(known.to_le_bytes());
            }
            ControlMessage::Pull { stream, key, offset, len } => {
                into.push(PULL);
                into.extend(stream.to_le_bytes());
                [key, offset, len].into_iter().for_each(|field| into.extend(field.to_le_bytes()));
            }
            ControlMessage::Over { stream, received } => {
                into.push(OVER);
                into.extend(stream.to_le_bytes());
                into.extend(received.to_le_bytes());
            }
        }
    }

    /// Reads a message; `None` if the bytes are none.
    pub fn read(bytes: &[u8]) -> Option<ControlMessage> {
        let (&kind, rest) = bytes.split_first()?;
        match kind {
            INVITE => {
                let (rest, known) = rest.split_last_chunk()?;
                let [rail, low, high, token @ ..]: [u8; 19] = rest.try_into().ok()?;
                let (port, known) = (u16::from_le_bytes([low, high]), u32::from_le_bytes(*known));
                Some(ControlMessage::Invite { rail, port, token, known })
            }
            PULL => {
                let (stream, rest) = stream_of(rest)?;
                let [key, offset, len] = fields_of(rest)?;
                Some(ControlMessage::Pull { stream, key, offset, len })
            }
            OVER => {
                let (stream, rest) = stream_of(rest)?;
                Some(ControlMessage::Over { stream, received: u64::from_le_bytes(rest.try_into().ok()?) })
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
    fn messages_survive_the_wire_and_nonsense_is_refused() {
        let token = std::array::from_fn(|at| at as u8);
        let messages = [
            ControlMessage::Invite { rail: 31, port: 65_535, token, known: 0x0102_0304 },
            ControlMessage::Pull { stream: 7, key: u64::MAX, offset: 3, len: 1 << 40 },
            ControlMessage::Over { stream: u32::MAX, received: 1 << 50 },
        ];
        for message in messages {
            let mut bytes = Vec::new();
            message.write(&mut bytes);
            assert!(is_stream(&bytes) && tasuki_bulk::ControlMessage::read(&bytes).is_none());
            assert_eq!(ControlMessage::read(&bytes), Some(message));
            bytes.push(0);
            assert_eq!(ControlMessage::read(&bytes), None, "{message:?}: a byte too many");
            bytes.truncate(bytes.len() - 2);
            assert_eq!(ControlMessage::read(&bytes), None, "{message:?}: a byte too few");
        }
        assert!(!is_stream(&[]) && !is_stream(&[7]) && !is_stream(&[11]));
    }
}
