//! The wire format of Tasuki's packets: parsing and emitting. `docs/reference/wire.md` is its specification.
//!
//! [`Packet::parse`] checks a whole packet and then hands out its frames; [`Brief::parse`] does so for the
//! most frequent packets; [`PacketBuilder`] writes a packet. None of them allocates, and payload is borrowed.
//! Input can be anything: what is not a packet is dropped with a [`DropReason`], which the caller counts. The
//! crate holds no state: who the peer is, which packets have arrived and what frames mean is decided by the
//! layers above.
#![deny(unsafe_code)]

mod ack;
mod auth;
mod brief;
mod builder;
mod cable;
mod crc;
mod cursor;
mod discovery;
mod drop_reason;
mod emit_error;
mod frame;
mod greeting;
mod header;
mod ids;
mod limits;
mod message;
mod packet;
mod rails;

pub use ack::{Ack, Run, Runs};
pub use auth::{JobKey, KeyError, PacketKey, Party};
pub use brief::Brief;
pub use builder::PacketBuilder;
pub use cable::{CABLE_ETHERTYPE, CABLE_HEAD_LEN, CableHello, CableKind, CableNic, CableProbe, CableState};
pub use cursor::var_len;
pub use discovery::Discovery;
pub use drop_reason::DropReason;
pub use emit_error::EmitError;
pub use frame::Frame;
pub use greeting::Greeting;
pub use header::{ENDPOINT_OFFSET, Header, MAGIC, VERSION};
pub use ids::{Lane, Path, RefuseReason, Secret};
pub use limits::{
    Carriage, ETHERTYPE, HEADER_LEN, MAX_ACK_RUNS, MAX_PACKET_LEN, MAX_PACKET_NUMBER, MAX_RAILS, MIN_MTU,
    TAG_LEN,
};
pub use message::{Control, Data, Mark, Start};
pub use packet::{Packet, Tagged};
pub use rails::{Lanes, Rail, RailList, Rails};
