//! The sum by which contents are checked.

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::{
    fs::File,
    hash::Hasher,
    io::{self, Read},
    path::Path,
};

/// How many bytes are read at once: 256 KiB.
pub const CHUNK: usize = 256 << 10;

/// A key, which nobody but the hosts of a job knows: who can send to a host's socket cannot make contents
/// that pass for others. SipHash-1-3 takes about half a second for a gigabyte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key(pub [u8; 16]);

/// The sum of a file's contents under a [`Key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum([u64; 2]);

/// A sum that is being computed.
pub struct Summing(SipHasher13);

impl Summing {
    /// The sum of nothing yet.
    pub fn new(key: Key) -> Self {
        Self(SipHasher13::new_with_key(&key.0))
    }

    /// Adds what follows.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// The sum of all that was added.
    pub fn end(&self) -> Sum {
        let sum = self.0.finish128();
        Sum([sum.h1, sum.h2])
    }
}

/// The sum of a file.
pub fn of_file(path: &Path, key: Key) -> io::Result<Sum> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; CHUNK];
    let mut sum = Summing::new(key);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.end()),
            count => sum.add(&buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_depends_on_key_and_contents_and_not_on_pieces() {
        let of = |key: u8, pieces: &[&[u8]]| {
            let mut sum = Summing::new(Key([key; 16]));
            pieces.iter().for_each(|piece| sum.add(piece));
            sum.end()
        };
        assert_eq!(of(1, &[b"one file of some bytes"]), of(1, &[b"one f", b"", b"ile of some bytes"]));
        assert_ne!(of(1, &[b"contents"]), of(2, &[b"contents"]));
        assert_ne!(of(1, &[b"contents"]), of(1, &[b"contentt"]));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"contents").unwrap();
        assert_eq!(of_file(file.path(), Key([1; 16])).unwrap(), of(1, &[b"contents"]));
    }
}
