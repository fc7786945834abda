//! Names of segments.

use std::fmt;

/// Names an endpoint's segment: whoever can open it is on the same host (law 12). It becomes a file name that every user of the
/// host can list, so it must not be a secret itself: see [`Token::derive`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token([u8; 16]);

impl Token {
    /// The token with these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Token {
        Token(bytes)
    }

    /// The bytes.
    pub fn to_bytes(&self) -> [u8; 16] {
        self.0
    }

    /// The token of the endpoint with this secret: a keyed one-way function (SipHash-2-4), so that the file name does not give the
    /// secret away and both ends compute the same from the endpoint's address.
    pub fn derive(secret: &[u8; 16], incarnation: u64, endpoint: u32) -> Token {
        let _ = (secret, incarnation, endpoint);
        todo!()
    }

    /// A new token from the kernel's random source.
    pub fn random() -> std::io::Result<Token> {
        todo!()
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
