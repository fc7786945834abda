//! The packet layer: all connections of one endpoint, over all rails to its peers. It is pure: it performs no
//! IO, reads no clock and holds no payload.
//!
//! [`Proto`] takes datagrams and a time, and gives packets to send and a deadline. It asks the layer above
//! for frames to send through [`Upcalls`], one by one, and hands arriving frames to it, each position exactly
//! once. `docs/internals/packet-layer.md` says how it works, `docs/reference/wire.md` how it looks on the
//! cable.
#![forbid(unsafe_code)]

mod acked;
mod arrive;
mod carrier;
mod choose;
mod config;
mod conn;
mod defect;
mod deferred_ack;
mod describe;
mod event;
mod fast_path;
mod given_up;
mod ids;
mod interval;
mod keys;
mod outbox;
mod pack;
mod path;
mod proto;
mod rails;
mod receive;
mod received;
mod rtt;
mod sent;
mod stats;
mod table;
mod time;
mod timeout;
mod transmit;
mod tx_packet;
mod upcalls;
mod window;

pub use config::Config;
#[cfg(feature = "defects")]
pub use defect::Defect;
pub use event::{DownReason, Event, Transmit};
pub use ids::{ConnId, Local, Remote};
pub use proto::Proto;
pub use stats::{Drops, RailState, RailStats};
pub use time::Time;
pub use upcalls::{Outgoing, Payload, Upcalls};
