//! Whether the program has gone to do something else, so that the helper thread must step in.
//!
//! A program that has not called may compute, or wait for a processor: with more ranks than processors that
//! is what ranks do that wait for a message, and a helper that steps in for them takes the processor from
//! those that work. Which of the two it is the program's last call tells: one that was given something
//! computes, one that was given nothing waits.

use std::time::Duration;

/// Judges absence by the program's calls.
pub(super) struct Absence {
    /// Calls of the program until the last round.
    entries: u64,
    /// How long it has not called.
    lasts: Duration,
    nap: Duration,
    /// More threads want to run than there are processors.
    pub oversubscribed: bool,
}

/// A program that was given something at its last call and has not called for so long computes.
pub(super) const COMPUTING: Duration = Duration::from_millis(1);
/// A program that was given nothing at its last call calls again as soon as it gets a processor. If it has
/// not called for so long it computes after all.
const WAITING: Duration = Duration::from_millis(3);
/// As [`WAITING`], while oversubscribed: to get a processor takes longer.
const WAITING_OVERSUBSCRIBED: Duration = Duration::from_millis(100);
/// Longest time between two rounds while the program calls: every round interrupts something.
const NAP_MAX: Duration = Duration::from_millis(2);
/// As [`NAP_MAX`], while oversubscribed, and between two rounds for a program that was given nothing: the
/// rounds of many helpers take processors from their programs.
const NAP_MAX_OVERSUBSCRIBED: Duration = Duration::from_millis(16);

impl Absence {
    pub fn new(entries: u64) -> Absence {
        Absence { entries, lasts: Duration::ZERO, nap: COMPUTING, oversubscribed: false }
    }

    /// How long to sleep before the next round.
    pub fn nap(&self) -> Duration {
        self.nap
    }

    /// A round, after that sleep. `entries`: how often the program has called so far; `waits`: it was given
    /// nothing at its last call. True if the helper must step in.
    pub fn is_away(&mut self, entries: u64, waits: bool) -> bool {
        if entries != self.entries {
            (self.entries, self.lasts) = (entries, Duration::ZERO);
            let max = if self.oversubscribed { NAP_MAX_OVERSUBSCRIBED } else { NAP_MAX };
            self.nap = (self.nap * 2).min(max);
            return false;
        }
        self.lasts += self.nap;
        let limit = match (waits, self.oversubscribed) {
            (false, _) => COMPUTING,
            (true, false) => WAITING,
            (true, true) => WAITING_OVERSUBSCRIBED,
        };
        let away = self.lasts >= limit;
        self.nap = if waits && self.oversubscribed && !away { NAP_MAX_OVERSUBSCRIBED } else { COMPUTING };
        away
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time until the helper steps in for a program that calls no more.
    fn found_after(absence: &mut Absence, waits: bool) -> Duration {
        let (entries, mut slept) = (absence.entries, Duration::ZERO);
        loop {
            slept += absence.nap();
            if absence.is_away(entries, waits) {
                return slept;
            }
        }
    }

    #[test]
    fn the_helper_steps_in_soon_for_a_program_that_computes_and_late_for_one_that_waits() {
        let mut absence = Absence::new(0);
        for entries in 1..10 {
            assert!(!absence.is_away(entries, entries % 2 == 0));
        }
        assert_eq!(found_after(&mut absence, false), NAP_MAX);
        assert!(!absence.is_away(10, true), "it is back");
        assert!((WAITING..WAITING + NAP_MAX).contains(&found_after(&mut absence, true)));
    }

    #[test]
    fn there_are_few_rounds_while_oversubscribed() {
        let mut absence = Absence::new(0);
        absence.oversubscribed = true;
        let slept: Duration = (1..100)
            .map(|entries| {
                assert!(!absence.is_away(entries, true));
                absence.nap()
            })
            .sum();
        assert!(slept > NAP_MAX_OVERSUBSCRIBED * 90);
        assert!(found_after(&mut absence, false) <= NAP_MAX_OVERSUBSCRIBED, "for a program that computes");
        assert!(!absence.is_away(100, true));
        let limit = WAITING_OVERSUBSCRIBED..WAITING_OVERSUBSCRIBED + NAP_MAX_OVERSUBSCRIBED;
        assert!(limit.contains(&found_after(&mut absence, true)));
    }
}
