//! Whether the jobs of a fleet go on: looked at once ([`examine`]), and said by itself when one stands still
//! ([`HangWatch`]); and the words for people ([`title`], [`word`], [`details`]).
#![forbid(unsafe_code)]

#[macro_use]
extern crate tasuki_terminal;

mod blind;
mod examine;
mod text;
mod watch;

pub use examine::examine;
pub use text::{OUTSIDE, details, title, word};
pub use watch::HangWatch;
