//! Loads: which host sends what to which.

mod barrier;
mod open;
mod pattern;
mod push;

pub use barrier::{Barrier, BarrierShape, HostTimes, Share};
pub use open::Open;
pub use pattern::{Pattern, Targets};
pub use push::{Push, PushTimes};
