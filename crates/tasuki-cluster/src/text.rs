//! Text files that people write: read as UTF-8, or with the place at which they are not UTF-8.

use std::{fs, io, path::Path};
use thiserror::Error;

/// Why a file cannot be read as text. The text of the error does not name the file.
#[derive(Debug, Error)]
pub enum TextError {
    /// The system does not allow reading it.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// It is not UTF-8.
    #[error("line {line}, byte {column} of it: {byte:#04x} is not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// Line, from 1.
        line: usize,
        /// Byte in the line, from 1.
        column: usize,
        /// The byte that cannot be in UTF-8 text here.
        byte: u8,
        /// Its offset in the file, from 0.
        offset: usize,
    },
}

/// Reads a text file.
pub fn read_text(path: &Path) -> Result<String, TextError> {
    text_of(fs::read(path)?)
}

/// Bytes as text.
pub fn text_of(bytes: Vec<u8>) -> Result<String, TextError> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let before = &bytes[..offset];
        let begin = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        TextError::NotUtf8 { line, column: offset - begin + 1, byte: bytes[offset], offset }
    })
}

impl From<TextError> for io::Error {
    fn from(error: TextError) -> Self {
        match error {
            TextError::Read(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_that_cannot_be_is_named_with_its_place() {
        for (bytes, place) in [
            (b"\xff".as_slice(), (1, 1, 0xff)),
            (b"one\ntw\xf6\nthree\xe4", (2, 3, 0xf6)),
            ("ä\nb".as_bytes().iter().chain(b"\xc3").copied().collect::<Vec<_>>().as_slice(), (2, 2, 0xc3)),
            (b"a\r\n\x00\x80", (2, 2, 0x80)),
        ] {
            let Err(TextError::NotUtf8 { line, column, byte, .. }) = text_of(bytes.to_vec()) else {
                panic!("{bytes:?} is text")
            };
            assert_eq!((line, column, byte), place, "{bytes:?}");
        }
        assert_eq!(text_of("ä\n".as_bytes().to_vec()).unwrap(), "ä\n");
    }
}
