//! Shared memory between the processes of one host: rings, reading a peer's memory, and the statistics page.

mod cma;
mod create;
mod error;
mod file;
mod fork;
mod layout;
mod map;
mod outbox;
mod segment;
pub mod stats_page;
mod token;

pub use cma::Cma;
pub use error::{OpenError, RingError};
pub use outbox::Outbox;
pub use segment::{Departure, Record, Segment, SegmentOptions, SegmentStats, Slot, Verdict};
pub use token::Token;
