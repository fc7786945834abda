//! Seeds of randomised tests: where they come from, and the command that replays one.

use std::ops::Range;
use std::panic::{RefUnwindSafe, catch_unwind, resume_unwind};

/// How a failing seed of a test is replayed: by an environment variable that names it, and a command.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    /// Environment variable with the seed, a decimal number. The variable of the same name with an `S` behind
    /// it says how many seeds [`Replay::seeds`] gives.
    pub variable: &'a str,
    /// Command that runs the test alone, for instance `cargo test -p tasuki-link --test udp`.
    pub command: &'a str,
}

impl Replay<'_> {
    /// The seed that the environment names, if it names one.
    ///
    /// # Panics
    ///
    /// If the variable is set to something that is not a number: the test would silently run other seeds.
    pub fn seed(&self) -> Option<u64> {
        number(self.variable)
    }

    /// The seeds to run: the one that the environment names, or else the first ones, as many as the
    /// environment says or `default`.
    pub fn seeds(&self, default: u64) -> Range<u64> {
        match self.seed() {
            Some(seed) => seed..seed + 1,
            None => 0..number(&format!("{}S", self.variable)).unwrap_or(default),
        }
    }

    /// Whether the environment leaves the choice of seeds to the test: only then a test may demand that all
    /// seeds together have reached something.
    pub fn is_default(&self) -> bool {
        self.seed().is_none() && number(&format!("{}S", self.variable)).is_none()
    }

    /// The command that replays a seed.
    pub fn sentence(&self, seed: u64) -> String {
        format!("replay: {}={seed} {}", self.variable, self.command)
    }

    /// The one seed of a test: the one that the environment names, or else `fresh`. Prints the command that
    /// replays it.
    pub fn one(&self, fresh: impl FnOnce() -> u64) -> u64 {
        let seed = self.seed().unwrap_or_else(fresh);
        println!("{}", self.sentence(seed));
        seed
    }

    /// Runs a case for each of [`Replay::seeds`]. If one panics, prints the command that replays it and
    /// panics too.
    pub fn each(&self, default: u64, case: impl Fn(u64) + RefUnwindSafe) {
        for seed in self.seeds(default) {
            if let Err(panic) = catch_unwind(|| case(seed)) {
                println!("{}", self.sentence(seed));
                resume_unwind(panic);
            }
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}: not a number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLAY: Replay = Replay { variable: "TASUKI_TESTKIT_NEVER_SET", command: "cargo test" };

    #[test]
    fn without_a_variable_the_test_chooses() {
        assert_eq!((REPLAY.seed(), REPLAY.seeds(3), REPLAY.is_default()), (None, 0..3, true));
        assert_eq!(REPLAY.one(|| 7), 7);
        assert_eq!(REPLAY.sentence(7), "replay: TASUKI_TESTKIT_NEVER_SET=7 cargo test");
    }

    #[test]
    fn a_panic_is_passed_on() {
        assert!(catch_unwind(|| REPLAY.each(3, |seed| assert_ne!(seed, 2))).is_err());
        REPLAY.each(2, |seed| assert!(seed < 2));
    }
}
