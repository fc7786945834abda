//! Closing an endpoint: everything that was sent gets to its peers first, as long as there is hope.

use std::time::{Duration, Instant};

use tasuki_tuning::leaving;

use crate::inner::Inner;

/// Parts from all peers, waiting at most `limit`, and then until no peer writes into this process's memory
/// any more.
pub(crate) fn take_leave(inner: &Inner, limit: Duration) {
    part(inner, limit);
    // This wait has no bound. It is a matter of microseconds, unless somebody has stopped the process that
    // writes: and then what is at stake is the program's memory.
    while inner.lock().is_lent() {
        std::thread::yield_now();
    }
}

fn part(inner: &Inner, limit: Duration) {
    let start = Instant::now();
    inner.lock().say_goodbye();
    let mut moved = Instant::now();
    let mut knock = leaving::FIRST_KNOCK;
    loop {
        let (busy, deadline) = {
            let mut engine = inner.lock();
            let busy = engine.progress_leaving();
            if engine.is_closed() {
                return;
            }
            if !engine.is_confirming() && engine.is_drained() && moved.elapsed() > leaving::QUIET {
                // Whatever waits for a peer's program, the peer must know that what it has sent has arrived.
                engine.confirm();
            }
            if start.elapsed() >= knock {
                knock = start.elapsed() * 2;
                engine.knock_silent();
            }
            engine.prepare_to_sleep();
            (busy, engine.next_deadline())
        };
        if busy {
            moved = Instant::now();
        }
        if start.elapsed() >= limit {
            return;
        }
        inner.sleeper.sleep(deadline.min(leaving::PAUSE));
    }
}
