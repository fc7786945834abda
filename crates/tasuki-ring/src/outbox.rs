//! The sender's end.

use crate::{OpenError, Token};

/// Sender's end of one ring in a peer's segment. Dropping it tells the receiver, who still gets all that was pushed.
pub struct Outbox {
    token: Token,
}

impl Outbox {
    /// Opens the segment named `token` and takes a slot in it, leaving `me` there as the name of the sender.
    pub fn open(token: &Token, me: &Token) -> Result<Outbox, OpenError> {
        let _ = (token, me);
        todo!()
    }

    /// The segment's name.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Pushes a record of `len` bytes that `write` fills in place. False, without calling `write`, if the ring has no room now, if
    /// `len` exceeds [`Outbox::max_record`], or if the ring is shut ([`Outbox::is_shut`]).
    pub fn push(&mut self, len: usize, write: impl FnOnce(&mut [u8])) -> bool {
        let _ = (len, write);
        todo!()
    }

    /// The largest record, in bytes.
    pub fn max_record(&self) -> usize {
        todo!()
    }

    /// Whether nothing will ever go through any more: the receiver has shut the slot or closed its segment, or its indices are corrupt.
    pub fn is_shut(&self) -> bool {
        todo!()
    }

    /// Whether everything pushed has been received.
    pub fn is_drained(&self) -> bool {
        todo!()
    }

    /// Whether the owner's process still lives and has its segment open (one system call).
    pub fn alive(&self) -> bool {
        todo!()
    }
}
