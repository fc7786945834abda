//! Everything in turn, so that what is compared is measured under the same conditions.

use crate::{failure::Failure, terminal::progress_bar};
use signal_hook::{consts, flag};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Set by Ctrl-C. The second one ends the command at once; its labs end with it.
pub fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    flag::register_conditional_shutdown(consts::SIGINT, 130, Arc::clone(&interrupted))?;
    flag::register(consts::SIGINT, Arc::clone(&interrupted))?;
    Ok(interrupted)
}

/// Takes a step with each of `all`, repetition by repetition, with a progress bar. Ctrl-C ends it after the current step: then it returns true.
pub fn in_turn<T>(
    what: &'static str,
    interrupted: &AtomicBool,
    repetitions: usize,
    all: &mut [T],
    name: impl Fn(&T) -> String,
    mut step: impl FnMut(&mut T, usize),
) -> bool {
    let bar = progress_bar((all.len() * repetitions) as u64).with_prefix(what);
    for repetition in 1..=repetitions {
        for one in all.iter_mut() {
            if interrupted.load(Ordering::Relaxed) {
                bar.finish_and_clear();
                return true;
            }
            bar.set_message(name(one));
            step(one, repetition);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_come_once_before_any_comes_again_until_somebody_interrupts() {
        let stop = AtomicBool::new(false);
        let mut seen = Vec::new();
        let note = |one: &mut u8, repetition: usize| {
            seen.push((*one, repetition));
            stop.store(seen.len() == 5, Ordering::Relaxed);
        };
        assert!(in_turn("test", &stop, 9, &mut [1, 2, 3], u8::to_string, note));
        assert_eq!(seen, [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2)]);
        let mut count = 0;
        stop.store(false, Ordering::Relaxed);
        assert!(!in_turn("test", &stop, 2, &mut [1, 2, 3], u8::to_string, |_, _| count += 1));
        assert_eq!(count, 6);
    }
}
