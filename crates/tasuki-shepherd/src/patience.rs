//! How long a job waits for another owner: time in which the shepherd stood still itself does not count.

use std::time::{Duration, Instant};

/// Time from one look at the clock to the next.
const LOOK: Duration = Duration::from_secs(1);
/// Most time that counts from one look to the next: of more, the shepherd was stopped, or was saved and made
/// again elsewhere, where clocks show another time.
const COUNTED_MAX: Duration = Duration::from_secs(2);

/// What is left of a job's patience.
pub struct Patience {
    left: Duration,
    looked: Instant,
}

impl Patience {
    /// The job waits for so long.
    pub fn new(left: Duration) -> Self {
        Self { left, looked: Instant::now() }
    }

    /// When to look again.
    pub fn next_look(&self) -> Instant {
        self.looked + LOOK.min(self.left)
    }

    /// Looks at the clock. Whether it has waited long enough.
    pub fn is_over(&mut self) -> bool {
        self.is_over_at(Instant::now())
    }

    fn is_over_at(&mut self, now: Instant) -> bool {
        self.left = self.left.saturating_sub(now.saturating_duration_since(self.looked).min(COUNTED_MAX));
        self.looked = now;
        self.left.is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn time_in_which_the_shepherd_stood_still_does_not_count() {
        let mut patience = Patience::new(MINUTE);
        let mut now = patience.looked;
        for _ in 0..59 {
            now = patience.next_look().max(now);
            assert!(!patience.is_over_at(now));
        }
        now += 10_000 * MINUTE;
        let mut other = Patience { left: patience.left, looked: patience.looked };
        assert!(patience.is_over_at(now), "one second was left, and two count");
        other.left += 5 * LOOK;
        assert!(!other.is_over_at(now) && !other.is_over_at(now), "four are left");
        // On a machine that was started later, the clock shows less.
        let mut moved = Patience { left: MINUTE, looked: now };
        let earlier = now - MINUTE;
        assert!(!moved.is_over_at(earlier) && moved.next_look() <= earlier + LOOK);
    }
}
