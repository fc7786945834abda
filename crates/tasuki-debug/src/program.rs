//! The process of a gdb.

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    process::Child,
    thread,
    time::{Duration, Instant},
};

/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// A gdb's process; none once it has ended.
#[derive(Default)]
pub(crate) struct Program(pub Option<Child>);

impl Program {
    /// Signals it, unless it has ended.
    pub fn signal(&self, signal: Signal) {
        let number = self.0.as_ref().and_then(|child| i32::try_from(child.id()).ok());
        if let Some(number) = number {
            // It is not reaped yet, so that its number is its own.
            let _ = kill(Pid::from_raw(number), signal);
        }
    }

    /// Waits for its end, until then. Returns whether it has ended.
    pub fn ends_by(&mut self, end: Instant) -> bool {
        let Some(child) = &mut self.0 else { return true };
        loop {
            match child.try_wait() {
                Ok(None) if Instant::now() < end => thread::sleep(LOOK),
                Ok(None) => return false,
                Ok(Some(_)) | Err(_) => {
                    self.0 = None;
                    return true;
                }
            }
        }
    }
}
