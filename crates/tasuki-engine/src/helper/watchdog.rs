//! The watchdog of coalescing: it sends coalesced messages that a program has left behind
//! ([`crate::net::coalesce`]).
//!
//! As long as a program sends series, the helper thread looks at one word of memory again and again. If that
//! says that coalesced messages wait for longer than a program that is there would let them, it sends them.
//! The program wakes it once, and until it is awake nothing is coalesced; some milliseconds after the last
//! series it goes back to sleep.

use std::time::Duration;

use tasuki_proto::Time;
use tasuki_tuning::watchdog;

use crate::biased_lock::BiasedLock;
use crate::coalesce_watch::CoalesceWatch;
use crate::engine::Engine;

/// The helper thread's part.
pub(super) struct Watchdog {
    on: bool,
    /// Time between two looks, and looks since it was changed.
    every: Duration,
    calm: u32,
    /// Since when coalesced messages had waited, at the last look.
    since: Time,
    /// For so long nothing has been coalesced.
    idle: Duration,
    /// More threads want to run than there are processors: the watchdog would come late, and take time from
    /// those that work.
    pub oversubscribed: bool,
}

/// What a look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// No coalesced message waits, or no old one.
    Calm,
    /// Coalesced messages have waited for too long.
    Old,
    /// There are no series any more.
    Over,
}

impl Watchdog {
    pub fn new() -> Watchdog {
        Watchdog {
            on: false,
            every: watchdog::EVERY,
            calm: 0,
            since: Time(0),
            idle: Duration::ZERO,
            oversubscribed: false,
        }
    }

    /// How long to sleep at a time, out of `nap`.
    pub fn nap(&self, nap: Duration) -> Duration {
        if self.on { nap.min(self.every) } else { nap }
    }

    /// The program would coalesce messages if the processors were not oversubscribed, as far as is known.
    pub fn is_kept_off(&self, coalesce_watch: &CoalesceWatch) -> bool {
        self.oversubscribed && coalesce_watch.is_wanted()
    }

    /// Looks, if the program wants it.
    pub fn tend(&mut self, coalesce_watch: &CoalesceWatch, lock: &BiasedLock<Engine>, now: Time) {
        match self.on {
            false if coalesce_watch.is_wanted() && !self.oversubscribed => self.begin(coalesce_watch, lock),
            false => {}
            true if self.oversubscribed => self.leave(coalesce_watch),
            true => match self.look(coalesce_watch.since(), now) {
                Seen::Calm => {}
                Seen::Old => send_coalesced(lock),
                Seen::Over => self.leave(coalesce_watch),
            },
        }
    }

    #[cold]
    fn begin(&mut self, coalesce_watch: &CoalesceWatch, lock: &BiasedLock<Engine>) {
        // Later this would keep messages waiting.
        lock.register();
        let _ = nix::sys::prctl::set_timerslack(watchdog::SLACK_NS);
        (self.on, self.since, self.idle) = (true, coalesce_watch.since().0, Duration::ZERO);
        coalesce_watch.set_watched(true);
    }

    /// Looks no more. Messages that are coalesced from now on, by a program that has not noticed yet, leave
    /// when the helper steps in for another reason.
    pub fn leave(&mut self, coalesce_watch: &CoalesceWatch) {
        if std::mem::take(&mut self.on) {
            coalesce_watch.set_watched(false);
        }
    }

    fn look(&mut self, (since, coalesced): (Time, bool), now: Time) -> Seen {
        let same = std::mem::replace(&mut self.since, since) == since;
        self.idle = if same && !coalesced { self.idle + self.every } else { Duration::ZERO };
        if coalesced && now.since_ns(since) > watchdog::OLD_NS {
            (self.every, self.calm) = (watchdog::EVERY, 0);
            return Seen::Old;
        }
        self.calm += 1;
        if self.calm >= watchdog::PROOF {
            (self.every, self.calm) = ((self.every * 2).min(watchdog::SELDOM), 0);
        }
        if self.idle >= watchdog::IDLE { Seen::Over } else { Seen::Calm }
    }
}

/// Sends the coalesced messages, unless the program holds the lock and so is there to do it.
#[cold]
fn send_coalesced(lock: &BiasedLock<Engine>) {
    if let Some(mut engine) = lock.visit() {
        engine.send_abandoned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_coalesced_for_long_are_old() {
        let mut watchdog = Watchdog::new();
        let since = Time(1_000_000);
        for (later, coalesced, seen) in [
            (0, true, Seen::Calm),
            (watchdog::OLD_NS, true, Seen::Calm),
            (watchdog::OLD_NS + 1, true, Seen::Old),
            (watchdog::OLD_NS + 1, false, Seen::Calm),
        ] {
            assert_eq!(watchdog.look((since, coalesced), Time(since.0 + later)), seen, "{later} {coalesced}");
        }
    }

    #[test]
    fn looks_end_after_the_last_series_and_never_while_messages_are_coalesced() {
        let mut watchdog = Watchdog { on: true, ..Watchdog::new() };
        for ns in 1..1000 {
            assert_eq!(watchdog.look((Time(ns), false), Time(ns)), Seen::Calm, "series between the looks");
        }
        let since = Time(1_000_000);
        for _ in 0..1000 {
            assert_ne!(watchdog.look((since, true), since), Seen::Over);
        }
        let mut slept = Duration::ZERO;
        while watchdog.look((since, false), since) != Seen::Over {
            slept += watchdog.nap(Duration::MAX);
        }
        assert!(slept < watchdog::IDLE + watchdog::SELDOM);
    }

    #[test]
    fn a_program_that_leaves_nothing_behind_is_looked_after_seldom_until_it_does() {
        let mut watchdog = Watchdog { on: true, ..Watchdog::new() };
        let naps = |watchdog: &Watchdog| watchdog.nap(Duration::MAX);
        assert_eq!(naps(&watchdog), watchdog::EVERY);
        let slept: Duration = (1..1000)
            .map(|ns| {
                watchdog.look((Time(ns), true), Time(ns));
                naps(&watchdog)
            })
            .sum();
        assert!(naps(&watchdog) == watchdog::SELDOM && slept > watchdog::SELDOM * 500);
        assert_eq!(watchdog.look((Time(1), true), Time(2 + watchdog::OLD_NS)), Seen::Old);
        assert_eq!(naps(&watchdog), watchdog::EVERY);
    }
}
