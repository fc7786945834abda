//! A long copy that both ends make: which of them copies what.
//!
//! The receiver of a long message reads it out of its sender's memory, from the front, and the sender, if it
//! has nothing else to do, writes from the back. Two words in the receiver's slot of the sender's segment say
//! how far both have got:
//!
//! * *claims*: how much either has claimed. An end that wants a part adds it by a compare-and-exchange, so
//!   that every byte is claimed once;
//! * *written*: how much of its claims the sender has written, or that it cannot.
//!
//! When all is claimed, the sender can claim no more, and what it has claimed and not written is the end of
//! the rest: see [`DualCopy::sender`]. A slot has room for one such copy at a time. Both words can be written
//! by either end, so either end checks what it reads, and works on nothing but its own idea of the copy.

mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod words;

pub use receiver::{Corrupt, DualCopy, SendersShare};
pub use sender::{DualCopyOffer, Part};
