//! Looking after messages that are held, for a program that may have gone off with them: [`crate::burst`].
//!
//! For as long as a program sends bursts the helper looks, ten thousand times a second, at one word of memory, and if that says twice in a row that the same messages
//! are held, sends them. The program wakes it once, and until it is awake nothing is held; some milliseconds after the last burst it goes back to sleep.

use std::time::Duration;

use crate::gate::Gate;
use crate::held::Held;
use crate::state::State;

/// Time between two looks.
pub(crate) const EVERY: Duration = Duration::from_micros(100);
/// Looks in a row between which nothing was held, after which nobody needs them any more.
const IDLE: u32 = 50;
/// The kernel may wake a thread so much later than it asked for, ns. (50,000 if nothing is said.)
const SLACK: u64 = 5_000;

/// The helper's part.
#[derive(Default)]
pub(crate) struct Minder {
    on: bool,
    /// What the last look found.
    word: u64,
    idle: u32,
    /// More want to run than there are processors: it would come late, and take time from those who work.
    pub crowd: bool,
}

/// What a look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// Nothing, or nothing old.
    Calm,
    /// What was held at the last look is still held.
    Old,
    /// No bursts any more.
    Over,
}

impl Minder {
    /// How long to sleep at a time, of so long.
    pub fn nap(&self, nap: Duration) -> Duration {
        if self.on { nap.min(EVERY) } else { nap }
    }

    /// Looks, if the program wants it.
    pub fn tend(&mut self, held: &Held, gate: &Gate<State>) {
        match self.on {
            false if held.is_wanted() && !self.crowd => self.begin(held, gate),
            false => {}
            true if self.crowd => self.leave(held),
            true => match self.look(held.word()) {
                Seen::Calm => {}
                Seen::Old => send_held(gate),
                Seen::Over => self.leave(held),
            },
        }
    }

    #[cold]
    fn begin(&mut self, held: &Held, gate: &Gate<State>) {
        // Later it would keep messages waiting.
        gate.register();
        let _ = nix::sys::prctl::set_timerslack(SLACK);
        (self.on, self.word, self.idle) = (true, held.word(), 0);
        held.watch(true);
    }

    /// Looks no more. What is held from now on, by a program that has not heard of it yet, goes when the helper comes otherwise.
    pub fn leave(&mut self, held: &Held) {
        if std::mem::take(&mut self.on) {
            held.watch(false);
        }
    }

    fn look(&mut self, word: u64) -> Seen {
        let same = std::mem::replace(&mut self.word, word) == word;
        let holds = word % 2 == 1;
        self.idle = if same && !holds { self.idle + 1 } else { 0 };
        match (same, holds) {
            (true, true) => Seen::Old,
            (true, false) if self.idle >= IDLE => Seen::Over,
            _ => Seen::Calm,
        }
    }
}

/// Sends what is held, unless the program is there to do it.
#[cold]
fn send_held(gate: &Gate<State>) {
    if let Some(mut state) = gate.visit() {
        state.send_abandoned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_at_two_looks_is_old() {
        let mut minder = Minder::default();
        let looks = [(0, Seen::Calm), (1, Seen::Calm), (1, Seen::Old), (2, Seen::Calm), (3, Seen::Calm)];
        for (word, seen) in looks {
            assert_eq!(minder.look(word), seen, "{word}");
        }
        assert_eq!(minder.look(5), Seen::Calm, "other messages");
        assert_eq!(minder.look(5), Seen::Old);
    }

    #[test]
    fn it_ends_after_the_last_burst_and_never_while_something_is_held() {
        let mut minder = Minder::default();
        for word in 1..10 * u64::from(IDLE) {
            assert_ne!(minder.look(2 * word), Seen::Over, "bursts between the looks");
        }
        for _ in 0..10 * IDLE {
            assert_ne!(minder.look(1), Seen::Over);
        }
        let looks = (1..).find(|_| minder.look(2) == Seen::Over);
        assert_eq!(looks, Some(IDLE + 1));
    }
}
