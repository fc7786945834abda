//! Whether the program has gone to do something else, so that the helper thread must step in.
//!
//! A program that has not called may compute, or wait for a processor: with more ranks than processors that
//! is what ranks do that wait for a message, and a helper that steps in for them takes the processor from
//! those that work. Which of the two it is the program's last call tells: one that was given something
//! computes, one that was given nothing waits.

use std::time::Duration;

use tasuki_tuning::helper;

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

impl Absence {
    pub fn new(entries: u64) -> Absence {
        Absence { entries, lasts: Duration::ZERO, nap: helper::COMPUTING, oversubscribed: false }
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
            let max = if self.oversubscribed { helper::NAP_MAX_OVERSUBSCRIBED } else { helper::NAP_MAX };
            self.nap = (self.nap * 2).min(max);
            return false;
        }
        self.lasts += self.nap;
        let limit = match (waits, self.oversubscribed) {
            (false, _) => helper::COMPUTING,
            (true, false) => helper::WAITING,
            (true, true) => helper::WAITING_OVERSUBSCRIBED,
        };
        let away = self.lasts >= limit;
        self.nap = if waits && self.oversubscribed && !away {
            helper::NAP_MAX_OVERSUBSCRIBED
        } else {
            helper::COMPUTING
        };
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
        assert_eq!(found_after(&mut absence, false), helper::NAP_MAX);
        assert!(!absence.is_away(10, true), "it is back");
        assert!(
            (helper::WAITING..helper::WAITING + helper::NAP_MAX).contains(&found_after(&mut absence, true))
        );
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
        assert!(slept > helper::NAP_MAX_OVERSUBSCRIBED * 90);
        assert!(
            found_after(&mut absence, false) <= helper::NAP_MAX_OVERSUBSCRIBED,
            "for a program that computes"
        );
        assert!(!absence.is_away(100, true));
        let limit =
            helper::WAITING_OVERSUBSCRIBED..helper::WAITING_OVERSUBSCRIBED + helper::NAP_MAX_OVERSUBSCRIBED;
        assert!(limit.contains(&found_after(&mut absence, true)));
    }
}
