//! Reading in steps, between which is looked whether what is being done is still wanted.

use std::{
    io::{self, ErrorKind, Read},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

/// How long a step takes at most, which is to be the time for which the socket waits.
pub(super) const STEP: Duration = Duration::from_millis(200);

/// What is read from an end that may be silent for a while, and that may not be wanted any more.
pub(super) struct Steps<'a, R> {
    pub line: &'a mut R,
    /// How long nothing may come.
    pub limit: Duration,
    pub stop: &'a AtomicBool,
}

impl<R: Read> Read for Steps<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let end = Instant::now() + self.limit;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("it was given up"));
            }
            match self.line.read(into) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
                        && Instant::now() < end => {}
                read => return read,
            }
        }
    }
}
