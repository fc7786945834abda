//! Time since the endpoint was opened. `std::time::Instant` gives the same and takes four times the
//! instructions, besides those of the system's own clock function.

use tasuki_proto::Time;
use tasuki_sys::clock::monotonic_ns;

/// The monotonic clock, counted from the moment at which this value was made.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    origin: u64,
}

impl Clock {
    /// A clock that shows 0 now.
    pub fn new() -> Clock {
        Clock { origin: monotonic_ns() }
    }

    pub fn now(&self) -> Time {
        Time(monotonic_ns().saturating_sub(self.origin))
    }
}
