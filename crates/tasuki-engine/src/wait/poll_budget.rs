//! The poll budget: how many polls look at memory alone between two that look at everything.
//!
//! A poll of memory alone takes a few nanoseconds. One of everything, with the clock, takes a hundred, in
//! which a message that arrives waits. A program that does nothing but poll can have dozens of the former
//! between two of the latter and is still never late for anything else; for a program that does other things
//! between its polls that would be long. So the budget follows the time that it takes to spend it.

use tasuki_proto::Time;
use tasuki_tuning::wait;

/// Counts polls.
pub(super) struct PollBudget {
    left: u32,
    size: u32,
    /// When everything was polled last.
    last: Time,
}

impl PollBudget {
    pub fn new() -> PollBudget {
        PollBudget { left: wait::BUDGET_MIN, size: wait::BUDGET_MIN, last: Time(0) }
    }

    /// Whether the next poll may look at memory alone.
    #[inline(always)]
    pub fn remains(&self) -> bool {
        self.left > 0
    }

    /// Polls of memory alone that are left.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// One poll is over.
    #[inline(always)]
    pub fn spend(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// The next poll looks at everything.
    pub fn exhaust(&mut self) {
        self.left = 0;
    }

    /// Everything is being polled. The next budget is the smallest if peers on other hosts may have something
    /// to say.
    pub fn renew(&mut self, now: Time, all_local: bool) {
        let took = now.since_ns(self.last);
        self.size = match took {
            _ if !all_local => wait::BUDGET_MIN,
            ..wait::BUDGET_QUICK_NS => (2 * self.size).min(wait::BUDGET_MAX),
            wait::BUDGET_QUICK_NS..=wait::BUDGET_SLOW_NS => self.size,
            _ => wait::BUDGET_MIN,
        };
        (self.left, self.last) = (self.size, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls between two of everything, after many of them, if each takes `each` ns.
    fn polls(each: u64) -> u32 {
        let (mut budget, mut now, mut between) = (PollBudget::new(), 0, 0);
        for _ in 0..1000 {
            now += each;
            budget.spend();
            between += 1;
            if !budget.remains() {
                budget.renew(Time(now), true);
                if now > 900 * each {
                    return between;
                }
                between = 0;
            }
        }
        panic!("there is an end");
    }

    #[test]
    fn nothing_is_late_by_more_than_ten_microseconds() {
        assert_eq!(polls(1), wait::BUDGET_MAX);
        for each in [1, 10, 30, 100, 300, 1_000, 100_000] {
            let between = polls(each);
            let time = u64::from(between) * each;
            assert!(
                time <= wait::BUDGET_SLOW_NS || between == wait::BUDGET_MIN,
                "{between} polls of {each} ns"
            );
        }
    }

    #[test]
    fn a_program_that_was_away_polls_everything_soon() {
        let mut budget = PollBudget::new();
        (1..100).for_each(|now| budget.renew(Time(now), true));
        budget.renew(Time(1_000_000), true);
        (0..wait::BUDGET_MIN).for_each(|_| budget.spend());
        assert!(!budget.remains());
        budget.renew(Time(1_000_100), true);
        budget.exhaust();
        assert!(!budget.remains());
    }
}
