//! Length-coded bulk transfer: packets without headers, whose length alone tells which they are (Ooi, Osawa, Yuba, section 4).
//!
//! Packets of one round get shorter by a fixed step, from a first size that both sides know: so a length names a sequence number and an
//! offset. The *giver* sends them straight out of its program's memory. The *taker* receives them straight into its program's: as they come
//! in order, it asks the kernel to put each datagram where the next missing one belongs. Where one was lost, its successors come to the wrong
//! place and are moved: only then anything is copied.
//!
//! [`Round`] is the arithmetic, [`RoundTx`] and [`RoundRx`] are the two sides of one round, [`ControlMessage`] is what they say to each other on a channel
//! that loses nothing. Nothing here reads a clock or performs IO.
//!
//! Packets of an earlier round that the network has held back, or that a forger sends, look like packets of this one. So the giver tells the
//! checksum of each packet when it has sent all, and the taker asks again for what does not agree.
#![forbid(unsafe_code)]

mod control;
mod round;
mod rx;
mod tx;

pub use control::{CONTROL_MESSAGE_MAX, ControlMessage, Run};
pub use round::{PACKETS_MAX, Round, Sizes};
pub use rx::{Placed, RoundRx};
pub use tx::RoundTx;
