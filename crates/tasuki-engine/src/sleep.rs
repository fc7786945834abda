//! Sleeping until a packet comes.

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout};

use crate::state::State;

/// The descriptors that wake an endpoint.
pub(crate) struct Sleeper {
    sockets: Vec<RawFd>,
    longest: Duration,
}

/// Nothing wakes a sleeper when a record comes through shared memory: it looks itself.
const SHARED: Duration = Duration::from_millis(1);

/// Timers are set by others too.
const PACKETS: Duration = Duration::from_millis(20);

impl Sleeper {
    pub fn new(state: &State) -> Sleeper {
        let sockets = state.links.iter().map(|link| link.udp.as_fd().as_raw_fd()).collect();
        Sleeper { sockets, longest: if state.segment.is_some() { SHARED } else { PACKETS } }
    }

    /// Sleeps until a packet is there, or for `time`, or a little while.
    pub fn sleep(&self, time: Duration) {
        let time = time.min(self.longest);
        let mut waiting: Vec<PollFd<'_>> = self
            .sockets
            .iter()
            // SAFETY: the sockets belong to the state, which lives as long as the sleeper beside it and never replaces them.
            .map(|socket| PollFd::new(unsafe { BorrowedFd::borrow_raw(*socket) }, PollFlags::POLLIN))
            .collect();
        let milliseconds = u16::try_from(time.as_micros().div_ceil(1000)).unwrap_or(u16::MAX);
        // An error (a signal) is a wake-up like any other.
        let _ = nix::poll::poll(&mut waiting, PollTimeout::from(milliseconds));
    }
}
