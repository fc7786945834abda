//! A measurement's progress on the terminal, and its end by Ctrl-C.

use indicatif::ProgressBar;
use signal_hook::{consts, flag};
use std::{
    cell::RefCell,
    sync::{Arc, atomic::AtomicBool},
};
use tasuki_bench::lab::Progress;
use tasuki_terminal::{Failure, progress_bar};

/// A progress bar while there is work, and notes on standard error.
#[derive(Default)]
pub struct Bar(RefCell<Option<ProgressBar>>);

impl Progress for Bar {
    fn begin(&self, title: &str, steps: u64) {
        self.finish();
        *self.0.borrow_mut() = Some(progress_bar(steps).with_prefix(title.to_owned()));
    }

    fn step(&self, what: &str) {
        if let Some(bar) = &*self.0.borrow() {
            bar.set_message(what.to_owned());
        }
    }

    fn advance(&self, steps: u64) {
        if let Some(bar) = &*self.0.borrow() {
            bar.inc(steps);
        }
    }

    fn finish(&self) {
        if let Some(bar) = self.0.borrow_mut().take() {
            bar.finish_and_clear();
        }
    }

    fn note(&self, text: &str) {
        eprintln!("tasuki: {text}");
    }
}

/// A flag that Ctrl-C sets. The second Ctrl-C ends the command at once, and its labs with it.
pub fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    flag::register_conditional_shutdown(consts::SIGINT, 130, Arc::clone(&interrupted))?;
    flag::register(consts::SIGINT, Arc::clone(&interrupted))?;
    Ok(interrupted)
}
