//! What a measurement has to do with the person who waits for it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Tells a person how far a measurement has got.
pub trait Progress {
    /// Work of so many steps begins.
    fn begin(&self, title: &str, steps: u64);
    /// The next step begins, and what it is.
    fn step(&self, what: &str);
    /// So many steps are over.
    fn advance(&self, steps: u64);
    /// All of the work is over, or it was given up.
    fn finish(&self);
    /// Something that a reader of the results should know, such as what is not measured.
    fn note(&self, text: &str);
}

/// A measurement under way.
#[derive(Clone, Copy)]
pub struct Session<'a> {
    /// Is told how far the measurement has got.
    pub progress: &'a dyn Progress,
    /// Set once the measurement is to end. It ends after the current step; what was measured is kept.
    pub interrupted: &'a AtomicBool,
}

impl Session<'_> {
    /// Whether the measurement is to end.
    pub fn is_interrupted(self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
