//! The clock of the queue: the time of the day at which its daemon began, and what has passed since. Somebody
//! who sets the clock of the machine, as NTP does after a wrong start, changes no duration by that. Time in
//! which the machine sleeps does not count.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock that nobody sets.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// When it began, since 1970.
    day: Duration,
    begun: Instant,
}

impl Times {
    /// A clock that shows the time of the day now.
    pub fn begin() -> Self {
        Self { day: day(), begun: Instant::now() }
    }

    /// Seconds since 1970, if nobody had set the clock of the machine since this one began.
    pub fn now(&self) -> u64 {
        self.at(Instant::now()).as_secs()
    }

    /// How much the clock of the machine is ahead of this one, in whole seconds.
    pub fn ahead(&self) -> i64 {
        self.ahead_at(Instant::now(), day())
    }

    fn at(&self, now: Instant) -> Duration {
        self.day + now.duration_since(self.begun)
    }

    fn ahead_at(&self, now: Instant, day: Duration) -> i64 {
        let [day, own] = [day, self.at(now)].map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        // The two clocks are never read at once, and drift: a part of a second is none.
        (day - own + 500).div_euclid(1000)
    }
}

/// Since 1970, by the clock of the machine.
fn day() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_changes_how_much_it_is_ahead_and_nothing_else() {
        let (begun, day) = (Instant::now(), Duration::from_millis(1_795_676_400_700));
        let times = Times { day, begun };
        for after in [0, 299, 300, 900, 100_000].map(Duration::from_millis) {
            let now = begun + after;
            assert_eq!(times.at(now), day + after);
            assert_eq!(times.ahead_at(now, day + after + Duration::from_millis(400)), 0);
            assert_eq!(times.ahead_at(now, day + after - Duration::from_millis(400)), 0);
            assert_eq!(times.ahead_at(now, day + after + Duration::from_secs(3600)), 3600);
            assert_eq!(times.ahead_at(now, day + after - Duration::from_secs(3600)), -3600);
        }
    }
}
