//! Whether the program has gone to do something else, so that the helper thread must step in.
//!
//! A program that has not called may compute, or wait for a processor: with more ranks than processors that
//! is what ranks do that wait for a message, and a helper that steps in for them takes the processor from
//! those that work. The processor time that the program has used since its last call tells which it is.
//! Where it has used none (it sleeps, or reads a file), its last call tells: a program that was given
//! something does something else, one that was given nothing waits.

use std::time::Duration;

use tasuki_tuning::helper;

/// What the program has done until now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activity {
    /// How often it has called.
    pub calls: u64,
    /// It was given nothing at its last call.
    pub waits: bool,
    /// Processor time of all its threads.
    pub used: Duration,
}

/// Judges absence by the program's calls and its processor time.
pub(super) struct Absence {
    /// The program's calls, and the processor time that it had used, when the last round found new calls.
    calls: u64,
    used: Duration,
    /// How long it has not called.
    lasts: Duration,
    nap: Duration,
    /// More threads want to run than there are processors.
    pub oversubscribed: bool,
}

impl Absence {
    pub fn new(now: Activity) -> Absence {
        Absence {
            calls: now.calls,
            used: now.used,
            lasts: Duration::ZERO,
            nap: helper::COMPUTING,
            oversubscribed: false,
        }
    }

    /// How long to sleep before the next round.
    pub fn nap(&self) -> Duration {
        self.nap
    }

    /// A round, after that sleep. True if the helper must step in.
    pub fn is_away(&mut self, now: Activity) -> bool {
        let used = now.used.saturating_sub(self.used);
        if now.calls != self.calls {
            self.nap = self.nap_after_calls(now.calls.wrapping_sub(self.calls), used);
            (self.calls, self.used, self.lasts) = (now.calls, now.used, Duration::ZERO);
            return false;
        }
        self.lasts += self.nap;
        let limit = match (now.waits, self.oversubscribed) {
            (false, _) => helper::COMPUTING,
            (true, false) => helper::WAITING,
            (true, true) => helper::WAITING_OVERSUBSCRIBED,
        };
        let away = used >= helper::COMPUTED || self.lasts >= limit;
        let computes = used >= self.lasts / 2;
        self.nap = if now.waits && self.oversubscribed && !away && !computes {
            helper::NAP_MAX_OVERSUBSCRIBED
        } else {
            helper::COMPUTING
        };
        away
    }

    /// The next nap if the program has called so often since the last round and used so much processor time.
    fn nap_after_calls(&self, calls: u64, used: Duration) -> Duration {
        let calls = u32::try_from(calls).unwrap_or(u32::MAX);
        let computes = used >= helper::PER_CALL.saturating_mul(calls) && used >= self.nap / 2;
        match (computes, self.oversubscribed) {
            (true, _) => helper::COMPUTING,
            (false, false) => (self.nap * 2).min(helper::NAP_MAX),
            (false, true) => (self.nap * 2).min(helper::NAP_MAX_OVERSUBSCRIBED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program, the time that it has used, and its helper.
    struct Program {
        absence: Absence,
        now: Activity,
    }

    impl Program {
        fn new(oversubscribed: bool) -> Program {
            let now = Activity { calls: 0, waits: false, used: Duration::from_secs(7) };
            Program { absence: Absence { oversubscribed, ..Absence::new(now) }, now }
        }

        /// A round in which the program has called and used this share of a processor. Gives the next nap.
        fn calls(&mut self, calls: u64, waits: bool, share: f64) -> Duration {
            self.now.calls += calls;
            self.now.waits = waits;
            self.now.used += self.absence.nap().mul_f64(share);
            assert!(!self.absence.is_away(self.now), "it has called");
            self.absence.nap()
        }

        /// Time until the helper steps in for a program that calls no more and uses this share of a
        /// processor.
        fn found_after(&mut self, waits: bool, share: f64) -> Duration {
            self.now.waits = waits;
            let mut slept = Duration::ZERO;
            loop {
                slept += self.absence.nap();
                self.now.used += self.absence.nap().mul_f64(share);
                if self.absence.is_away(self.now) {
                    return slept;
                }
            }
        }
    }

    #[test]
    fn the_helper_steps_in_soon_for_a_program_that_was_given_something_and_late_for_one_that_waits() {
        let mut program = Program::new(false);
        (0..10).for_each(|round| _ = program.calls(1_000, round % 2 == 0, 1.0));
        assert_eq!(program.found_after(false, 0.0), helper::NAP_MAX);
        program.calls(1, true, 0.0);
        let found = program.found_after(true, 0.0);
        assert!((helper::WAITING..helper::WAITING + helper::NAP_MAX).contains(&found), "{found:?}");
    }

    #[test]
    fn there_are_few_rounds_while_oversubscribed() {
        let mut program = Program::new(true);
        let slept: Duration = (0..100).map(|_| program.calls(50, true, 0.3)).sum();
        assert!(slept > helper::NAP_MAX_OVERSUBSCRIBED * 90);
        assert!(program.found_after(false, 0.0) <= helper::NAP_MAX_OVERSUBSCRIBED);
        program.calls(1, true, 0.0);
        let limit =
            helper::WAITING_OVERSUBSCRIBED..helper::WAITING_OVERSUBSCRIBED + helper::NAP_MAX_OVERSUBSCRIBED;
        assert!(limit.contains(&program.found_after(true, 0.0)), "it waits for a processor");
    }

    /// A program that posts a receive, is given nothing, and computes for ten milliseconds: its transfer can
    /// only be hidden if the helper comes within the first of them.
    #[test]
    fn a_program_that_computes_is_found_at_once_whatever_it_was_given_and_however_many_others_compute() {
        for (oversubscribed, share) in [(false, 1.0), (true, 1.0), (true, 0.6)] {
            let mut program = Program::new(oversubscribed);
            (0..10).for_each(|_| _ = program.calls(3, true, share));
            let found = program.found_after(true, share);
            assert!(found <= helper::COMPUTING * 2, "{found:?} of a share of {share}");
        }
    }

    #[test]
    fn a_program_that_polls_without_end_does_not_count_as_one_that_computes() {
        let mut program = Program::new(true);
        (0..10).for_each(|_| _ = program.calls(1_000, true, 1.0));
        assert_eq!(program.absence.nap(), helper::NAP_MAX_OVERSUBSCRIBED);
    }
}
