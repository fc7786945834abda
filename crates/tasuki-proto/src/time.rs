//! The caller's clock.

use std::ops::Add;
use std::time::Duration;

/// Nanoseconds since an origin of the caller's choice. It must not run backwards between two calls.
/// Arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// A time that never comes.
    pub(crate) const NEVER: Time = Time(u64::MAX);

    /// Nanoseconds since `earlier`, 0 if that is later.
    pub fn since_ns(self, earlier: Time) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time since `earlier`, 0 if that is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.since_ns(earlier))
    }

    /// `ns` nanoseconds later.
    #[must_use]
    pub fn after_ns(self, ns: u64) -> Time {
        Time(self.0.saturating_add(ns))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, later: Duration) -> Time {
        self.after_ns(u64::try_from(later.as_nanos()).unwrap_or(u64::MAX))
    }
}
