//! Names of segments.

use std::{fmt, io};

/// The name of an endpoint's segment. A process that can open the segment is on the same host, by definition.
/// The token becomes a file name that every user of the host can list, so it must not be a secret itself: see
/// [`Token::derive`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token([u8; 16]);

impl Token {
    /// The token with these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Token {
        Token(bytes)
    }

    /// The token's bytes.
    pub fn to_bytes(&self) -> [u8; 16] {
        self.0
    }

    /// The token of the endpoint with this secret, incarnation and number. It is a keyed one-way function of
    /// them (SipHash-2-4), so that the file name does not give the secret away, and both ends compute the
    /// same token from the endpoint's address.
    pub fn derive(secret: &[u8; 16], incarnation: u64, endpoint: u32) -> Token {
        let mut message = [0; 13];
        message[1..9].copy_from_slice(&incarnation.to_le_bytes());
        message[9..].copy_from_slice(&endpoint.to_le_bytes());
        let mut bytes = [0; 16];
        for (half, number) in bytes.chunks_exact_mut(8).zip(1..) {
            message[0] = number;
            half.copy_from_slice(&siphash24(secret, &message).to_le_bytes());
        }
        Token(bytes)
    }

    /// A new token from the kernel's random source.
    pub fn random() -> io::Result<Token> {
        let mut bytes = [0; 16];
        fill_random(&mut bytes)?;
        Ok(Token(bytes))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({self})")
    }
}

/// Fills `bytes`, at most 256 of them, from the kernel's random source, which gives so few all at once
/// (getrandom(2)).
pub(crate) fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: the pointer and length are those of a live buffer.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    match usize::try_from(got) {
        Ok(got) if got == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012).
fn siphash24(key: &[u8; 16], message: &[u8]) -> u64 {
    let word = |bytes: &[u8]| {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(padded)
    };
    let (k0, k1) = (word(&key[..8]), word(&key[8..]));
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let chunks = message.chunks_exact(8);
    let last = word(chunks.remainder()) | (message.len() as u64) << 56;
    for m in chunks.map(word).chain([last]) {
        v[3] ^= m;
        (0..2).for_each(|_| round(&mut v));
        v[0] ^= m;
    }
    v[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix A of the SipHash paper: key 00..0f, message 00..0e.
    #[test]
    fn siphash_gives_the_paper_s_value() {
        let key: [u8; 16] = std::array::from_fn(|i| i as u8);
        let message: [u8; 15] = std::array::from_fn(|i| i as u8);
        assert_eq!(siphash24(&key, &message), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn tokens_differ_in_everything_they_are_made_of() {
        let a = Token::derive(&[1; 16], 2, 3);
        assert_eq!(a, Token::derive(&[1; 16], 2, 3));
        let others =
            [Token::derive(&[2; 16], 2, 3), Token::derive(&[1; 16], 3, 3), Token::derive(&[1; 16], 2, 4)];
        assert!(!others.contains(&a));
        assert_eq!(a.to_string().len(), 32);
    }
}
