//! Sleeping until a packet comes.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use crate::lanes::Sockets;
use crate::ready::sleep_on;
use crate::state::State;

/// What wakes an endpoint.
pub(crate) struct Sleeper {
    /// All UDP sockets in one, and those of length-coded bulk.
    sockets: Vec<OwnedFd>,
    /// Those of raw lanes.
    raw: Sockets,
    longest: Duration,
}

/// Nothing wakes a sleeper when a record comes through shared memory: it looks itself.
const SHARED: Duration = Duration::from_millis(1);

/// Timers are set by others too.
const PACKETS: Duration = Duration::from_millis(20);

impl Sleeper {
    pub fn new(state: &State) -> std::io::Result<Sleeper> {
        let bulk = state.core.bulk.as_ref().map(|bulk| bulk.as_fd());
        let all = std::iter::once(state.ready.as_fd()).chain(bulk);
        let sockets = all.map(|socket| socket.try_clone_to_owned()).collect::<Result<_, _>>()?;
        let raw = state.raw_sockets.clone();
        Ok(Sleeper { sockets, raw, longest: if state.segment.is_some() { SHARED } else { PACKETS } })
    }

    /// Sleeps until a packet is there, or for `time`, or a little while.
    pub fn sleep(&self, time: Duration) {
        self.nap(time.min(self.longest));
    }

    /// The same for a nap, and no longer.
    pub fn nap(&self, time: Duration) {
        let all = self.sockets.iter().chain(self.raw.get().into_iter().flatten());
        sleep_on(all.map(AsFd::as_fd), time);
    }
}
