//! Everything in turn, so that what is compared is measured under the same conditions.

use super::Session;
use crate::others::Others;

/// Takes a step with each of `all`, repetition by repetition (from 1). True if the session ended it before
/// its end.
pub(super) fn in_turn<T>(
    session: Session<'_>,
    title: &str,
    repetitions: usize,
    all: &mut [T],
    name: impl Fn(&T) -> String,
    mut step: impl FnMut(&mut T, usize),
) -> bool {
    let mut others = Others::default();
    session.progress.begin(title, (all.len() * repetitions) as u64);
    for repetition in 1..=repetitions {
        others.watch();
        for one in all.iter_mut() {
            if session.is_interrupted() {
                session.progress.finish();
                return true;
            }
            session.progress.step(&name(one));
            step(one, repetition);
            session.progress.advance(1);
        }
    }
    session.progress.finish();
    others.warning().inspect(|warning| session.progress.note(warning));
    false
}

#[cfg(test)]
mod tests {
    use super::super::Progress;
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Nobody waits.
    struct Silent;

    impl Progress for Silent {
        fn begin(&self, _title: &str, _steps: u64) {}
        fn step(&self, _what: &str) {}
        fn advance(&self, _steps: u64) {}
        fn finish(&self) {}
        fn note(&self, _text: &str) {}
    }

    #[test]
    fn all_come_once_before_any_comes_again_until_somebody_interrupts() {
        let interrupted = AtomicBool::new(false);
        let session = Session { progress: &Silent, interrupted: &interrupted };
        let mut seen = Vec::new();
        let note = |one: &mut u8, repetition: usize| {
            seen.push((*one, repetition));
            interrupted.store(seen.len() == 5, Ordering::Relaxed);
        };
        assert!(in_turn(session, "test", 9, &mut [1, 2, 3], u8::to_string, note));
        assert_eq!(seen, [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)]);
        let mut count = 0;
        interrupted.store(false, Ordering::Relaxed);
        assert!(!in_turn(session, "test", 2, &mut [1, 2, 3], u8::to_string, |_, _| count += 1));
        assert_eq!(count, 6);
    }
}
