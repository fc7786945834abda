//! How long a call of the program may wait.

use std::time::{Duration, Instant};

use tasuki_tuning::provider::SLICE;

/// When a wait ends; `None`: never.
#[derive(Clone, Copy)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// So many milliseconds from now; negative: never.
    pub fn after_ms(timeout_ms: i32) -> Deadline {
        let timeout = u64::try_from(timeout_ms).ok().map(Duration::from_millis);
        Deadline(timeout.map(|timeout| Instant::now() + timeout))
    }

    /// How long to wait before the next look; `None`: time is up.
    pub fn left(self) -> Option<Duration> {
        let left = self.0.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()));
        (!left.is_zero()).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_once_or_never() {
        assert_eq!(Deadline::after_ms(0).left(), None);
        assert_eq!(Deadline::after_ms(-1).left(), Some(SLICE));
    }
}
