//! Looking after messages that are held, for a program that may have gone off with them: [`crate::burst`].
//!
//! For as long as a program sends bursts the helper looks at one word of memory again and again, and if that says that something is held for longer than a program that
//! is there would hold it, sends it. The program wakes it once, and until it is awake nothing is held; some milliseconds after the last burst it goes back to sleep.

use std::time::Duration;

use tasuki_proto::Time;

use crate::biased_lock::BiasedLock;
use crate::held::Held;
use crate::state::State;

/// Time between two looks. Each takes a processor from somebody, if all are busy, and some 20 us with it.
const EVERY: Duration = Duration::from_micros(100);
/// The same of a program that has not left anything for long.
const SELDOM: Duration = Duration::from_micros(800);
/// After so many looks that have found nothing old, the time between two is doubled.
const PROOF: u32 = 64;
/// Time without bursts after which nobody needs them any more.
const IDLE: Duration = Duration::from_millis(5);
/// The kernel may wake a thread so much later than it asked for, ns. (50,000 if nothing is said.)
const SLACK: u64 = 1_000;
/// A program that is there, and not kept from the processor, sends what it holds within a quarter of this, ns.
const OLD: u64 = 40_000;

/// The helper's part.
pub(crate) struct Minder {
    on: bool,
    /// Time between two looks, and looks since it was changed.
    every: Duration,
    calm: u32,
    /// What the last look found.
    since: Time,
    /// For so long nothing has been held.
    idle: Duration,
    /// More want to run than there are processors: it would come late, and take time from those who work.
    pub crowd: bool,
}

/// What a look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// Nothing, or nothing old.
    Calm,
    /// Something that is held for too long.
    Old,
    /// No bursts any more.
    Over,
}

impl Minder {
    pub fn new() -> Minder {
        Minder { on: false, every: EVERY, calm: 0, since: Time(0), idle: Duration::ZERO, crowd: false }
    }

    /// How long to sleep at a time, of so long.
    pub fn nap(&self, nap: Duration) -> Duration {
        if self.on { nap.min(self.every) } else { nap }
    }

    /// The program wants it, and a crowd is in the way, as far as is known.
    pub fn is_kept_off(&self, held: &Held) -> bool {
        self.crowd && held.is_wanted()
    }

    /// Looks, if the program wants it.
    pub fn tend(&mut self, held: &Held, lock: &BiasedLock<State>, now: Time) {
        match self.on {
            false if held.is_wanted() && !self.crowd => self.begin(held, lock),
            false => {}
            true if self.crowd => self.leave(held),
            true => match self.look(held.since(), now) {
                Seen::Calm => {}
                Seen::Old => send_held(lock),
                Seen::Over => self.leave(held),
            },
        }
    }

    #[cold]
    fn begin(&mut self, held: &Held, lock: &BiasedLock<State>) {
        // Later it would keep messages waiting.
        lock.register();
        let _ = nix::sys::prctl::set_timerslack(SLACK);
        (self.on, self.since, self.idle) = (true, held.since().0, Duration::ZERO);
        held.watch(true);
    }

    /// Looks no more. What is held from now on, by a program that has not heard of it yet, goes when the helper comes otherwise.
    pub fn leave(&mut self, held: &Held) {
        if std::mem::take(&mut self.on) {
            held.watch(false);
        }
    }

    fn look(&mut self, (since, holds): (Time, bool), now: Time) -> Seen {
        let same = std::mem::replace(&mut self.since, since) == since;
        self.idle = if same && !holds { self.idle + self.every } else { Duration::ZERO };
        if holds && now.since_ns(since) > OLD {
            (self.every, self.calm) = (EVERY, 0);
            return Seen::Old;
        }
        self.calm += 1;
        if self.calm >= PROOF {
            (self.every, self.calm) = ((self.every * 2).min(SELDOM), 0);
        }
        if self.idle >= IDLE { Seen::Over } else { Seen::Calm }
    }
}

/// Sends what is held, unless the program is there to do it.
#[cold]
fn send_held(lock: &BiasedLock<State>) {
    if let Some(mut state) = lock.visit() {
        state.send_abandoned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_for_long_is_old() {
        let mut minder = Minder::new();
        let since = Time(1_000_000);
        for (later, holds, seen) in [
            (0, true, Seen::Calm),
            (OLD, true, Seen::Calm),
            (OLD + 1, true, Seen::Old),
            (OLD + 1, false, Seen::Calm),
        ] {
            assert_eq!(minder.look((since, holds), Time(since.0 + later)), seen, "{later} {holds}");
        }
    }

    #[test]
    fn it_ends_after_the_last_burst_and_never_while_something_is_held() {
        let mut minder = Minder { on: true, ..Minder::new() };
        for ns in 1..1000 {
            assert_eq!(minder.look((Time(ns), false), Time(ns)), Seen::Calm, "bursts between the looks");
        }
        let since = Time(1_000_000);
        for _ in 0..1000 {
            assert_ne!(minder.look((since, true), since), Seen::Over);
        }
        let mut slept = Duration::ZERO;
        while minder.look((since, false), since) != Seen::Over {
            slept += minder.nap(Duration::MAX);
        }
        assert!(slept < IDLE + SELDOM);
    }

    #[test]
    fn whoever_leaves_nothing_is_looked_after_more_seldom_until_it_does() {
        let mut minder = Minder { on: true, ..Minder::new() };
        let naps = |minder: &Minder| minder.nap(Duration::MAX);
        assert_eq!(naps(&minder), EVERY);
        let slept: Duration = (1..1000)
            .map(|ns| {
                minder.look((Time(ns), true), Time(ns));
                naps(&minder)
            })
            .sum();
        assert!(naps(&minder) == SELDOM && slept > SELDOM * 500);
        assert_eq!(minder.look((Time(1), true), Time(2 + OLD)), Seen::Old);
        assert_eq!(naps(&minder), EVERY);
    }
}
