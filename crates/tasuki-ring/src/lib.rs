//! Shared memory between the processes of one host: rings, copies between the memories of two processes, and
//! the statistics page.

mod cma;
mod create;
mod dual_copy;
mod error;
mod file;
mod fork;
mod lane;
mod layout;
mod map;
mod outbox;
mod record;
mod segment;
mod senders;
pub mod stats_page;
mod sync;
mod tidy;
mod token;
mod types;

pub use cma::Cma;
pub use dual_copy::{Corrupt, DualCopy, DualCopyOffer, Part, SendersShare};
pub use error::{OpenError, RingError};
pub use layout::SHORT;
pub use outbox::{Line, Outbox, Room};
pub use record::{Found, FoundRecord, LineRecord, Peek, Record};
pub use segment::Segment;
pub use tidy::{tidy, tidy_in};
pub use token::Token;
pub use types::{Departure, SegmentOptions, SegmentStats, Slot, Verdict};
