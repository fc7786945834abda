//! Length-coded bulk transfer: packets without headers, each identified by its length alone (Ooi, Osawa,
//! Yuba, section 4).
//!
//! The packets of one round get shorter by a fixed step, from a first length that both sides know, so a
//! length names a sequence number and an offset. The sender sends them straight out of its program's memory.
//! The receiver receives them straight into its program's memory: as packets come in order, it asks the
//! kernel to put each datagram where the next missing packet belongs. Only where a packet was lost, its
//! successors come to the wrong place and must be copied.
//!
//! [`Round`] is the arithmetic, [`RoundTx`] and [`RoundRx`] are the two sides of one round, and
//! [`ControlMessage`] is what they tell each other on a channel that loses nothing. Nothing here reads a
//! clock or performs IO.
//!
//! Packets of an earlier round that the network has held back, or that a forger sends, look like packets of
//! the present one. So the sender tells the checksum of each packet when it has sent all, and the receiver
//! asks again for every packet whose checksum does not agree.
#![forbid(unsafe_code)]

mod control;
mod round;
mod rx;
mod tx;

pub use control::{CONTROL_MESSAGE_MAX, ControlMessage, Run};
pub use round::{PACKETS_MAX, Round, Sizes};
pub use rx::{Placed, RoundRx};
pub use tx::RoundTx;
