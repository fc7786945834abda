//! Sleeping until a packet comes.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use crate::ready::sleep_on;
use crate::state::State;

/// What wakes an endpoint.
pub(crate) struct Sleeper {
    sockets: OwnedFd,
    longest: Duration,
}

/// Nothing wakes a sleeper when a record comes through shared memory: it looks itself.
const SHARED: Duration = Duration::from_millis(1);

/// Timers are set by others too.
const PACKETS: Duration = Duration::from_millis(20);

impl Sleeper {
    pub fn new(state: &State) -> std::io::Result<Sleeper> {
        let sockets = state.ready.as_fd().try_clone_to_owned()?;
        Ok(Sleeper { sockets, longest: if state.segment.is_some() { SHARED } else { PACKETS } })
    }

    /// Sleeps until a packet is there, or for `time`, or a little while.
    pub fn sleep(&self, time: Duration) {
        sleep_on(self.sockets.as_fd(), time.min(self.longest));
    }
}
