//! The daemons' commands in the key space of the job. Values are words of at most 1023 bytes, so a command
//! travels in pieces of hexadecimal digits.

use crate::{error::OpenMpiError, pmi::Pmi};

/// Bytes of a command in one value.
const PIECE: usize = 480;
/// A command has at most so many pieces: what `mpirun` says is a few of them.
const PIECES_MAX: usize = 512;

/// Puts the command for the host at a place; `None`: no daemon is wanted there.
pub fn put(pmi: &mut Pmi, place: usize, command: Option<&[u8]>) -> Result<(), OpenMpiError> {
    let pieces = command.unwrap_or_default().chunks(PIECE);
    pmi.put(&format!("daemon-{place}"), &pieces.len().to_string())?;
    pieces.enumerate().try_for_each(|(number, piece)| pmi.put(&key(place, number), &to_digits(piece)))
}

/// The command for the host at a place, after the fence.
pub fn get(pmi: &mut Pmi, place: usize) -> Result<Option<Vec<u8>>, OpenMpiError> {
    let said = pmi.get(&format!("daemon-{place}"))?;
    let odd = |said: String| OpenMpiError::Pmi { wanted: "a daemon's command", said };
    let count: usize = match said.parse() {
        Ok(count) if count <= PIECES_MAX => count,
        _ => return Err(odd(said)),
    };
    let mut command = Vec::new();
    for number in 0..count {
        let said = pmi.get(&key(place, number))?;
        command.extend(from_digits(&said).ok_or_else(|| odd(said))?);
    }
    Ok((count > 0).then_some(command))
}

fn key(place: usize, number: usize) -> String {
    format!("daemon-{place}-{number}")
}

fn to_digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_digits(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_as_digits() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_digits(&to_digits(&bytes)), Some(bytes));
        assert_eq!(from_digits("0g"), None);
        // The PMI server's bound for a value.
        const { assert!(2 * PIECE < 1023) };
    }
}
