//! The record of one job: what its ranks spent their time with, what they sent to whom, what the NICs
//! carried, and what of that is worth a look. It is made of the job's trace and of the counters of NICs
//! before and after it.
#![forbid(unsafe_code)]

mod figures;
mod html;
mod warnings;

pub use figures::{Pair, RankTime, Report, SizeClass};
pub use html::page;
