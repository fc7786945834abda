//! Signals that end a job.

use crate::connection::Word;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{
    io, process,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
        mpsc::SyncSender,
    },
    thread,
};

/// The signal that has come, and was not taken yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicI32>);

impl Interrupt {
    /// Catches signals from now on. The first is told; the second ends this process at once, which ends the
    /// ranks everywhere, however much of their output nobody reads.
    ///
    /// # Errors
    /// If signals cannot be caught.
    pub fn catch(words: SyncSender<Word>) -> io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let interrupt = Self::default();
        let told = interrupt.clone();
        thread::spawn(move || {
            for (earlier, signal) in signals.forever().enumerate() {
                if earlier > 0 {
                    process::exit(128 + signal);
                }
                told.0.store(signal, Ordering::Release);
                // Where there is no room, the owner has words to hear, and looks for signals after each.
                let _ = words.try_send(Word::Interrupted);
            }
        });
        Ok(interrupt)
    }

    /// The signal, if one has come since this was last asked.
    pub fn take(&self) -> Option<i32> {
        Some(self.0.swap(0, Ordering::AcqRel)).filter(|signal| *signal != 0)
    }
}
