//! The first bytes of a connection, which all versions understand.

use thiserror::Error;

/// The version of the messages that follow a [`Hello`].
pub const PROTOCOL: u16 = 6;

const MAGIC: &[u8; 8] = b"tasukid\n";
/// Bytes before the program's version: magic, protocol, length.
const FIXED: usize = MAGIC.len() + 3;

/// What an end says of itself before anything else. Magic, protocol (u16, little endian), length (u8) and
/// text of the program's version: this form never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The version of its messages.
    pub protocol: u16,
    /// The program's version.
    pub version: String,
}

/// The other end is no Tasuki.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the other end does not speak as a tasuki does")]
pub struct HelloError;

impl Hello {
    /// A program of this version, with the messages of this crate.
    pub fn of(version: &str) -> Self {
        Self { protocol: PROTOCOL, version: version.into() }
    }

    /// Its bytes. A version of more than 255 bytes is cut off.
    pub fn to_bytes(&self) -> Vec<u8> {
        let version = &self.version.as_bytes()[..self.version.len().min(255)];
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.protocol.to_le_bytes());
        bytes.push(version.len() as u8);
        bytes.extend(version);
        bytes
    }

    /// Reads it from the beginning of what has come, with the number of bytes that it has; `None`: it has not
    /// come as a whole yet.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, HelloError> {
        let known = bytes.len().min(MAGIC.len());
        if bytes[..known] != MAGIC[..known] {
            return Err(HelloError);
        }
        let &[low, high, length] = bytes.get(MAGIC.len()..FIXED).unwrap_or_default() else { return Ok(None) };
        let end = FIXED + usize::from(length);
        let Some(version) = bytes.get(FIXED..end) else { return Ok(None) };
        let version = String::from_utf8_lossy(version).into_owned();
        Ok(Some((Self { protocol: u16::from_le_bytes([low, high]), version }, end)))
    }

    /// Whether an end of this version understands the messages of one that says `other`, and runs jobs as it
    /// does.
    pub fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_is_read_byte_by_byte_and_what_follows_is_left() {
        let hello = Hello { protocol: 513, version: "0.2.0".into() };
        let mut bytes = hello.to_bytes();
        assert_eq!(bytes, b"tasukid\n\x01\x02\x050.2.0");
        for end in 0..bytes.len() {
            assert_eq!(Hello::read(&bytes[..end]), Ok(None), "{end}");
        }
        bytes.push(9);
        assert_eq!(Hello::read(&bytes), Ok(Some((hello, bytes.len() - 1))));
    }

    #[test]
    fn others_are_known_by_their_first_byte() {
        assert_eq!(Hello::read(b"GET / HTTP/1.1"), Err(HelloError));
        assert_eq!(Hello::read(b"tasukid?"), Err(HelloError));
        assert!(!Hello::of("1").is_same(&Hello::of("2")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Hello::read(&bytes);
            let mut magic = MAGIC.to_vec();
            magic.extend(&bytes);
            let _ = Hello::read(&magic);
        }
    }
}
