//! The statistics pages of running processes and the counters of striping, on all hosts of a fleet; and
//! rates, which are the differences of two looks.
//!
//! Every host gathers its own [`HostPages`]; [`Look::at`] asks all of them.
#![forbid(unsafe_code)]

mod look;
mod pages;
mod rates;
mod room;

pub use look::{HostStriping, Look};
pub use pages::{HostPages, PAGES_COMMAND};
pub use rates::{RailRate, Rates};
