//! Sleeping until a packet arrives.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use tasuki_tuning::sleep;

use crate::net::lanes::Sockets;

/// What wakes an endpoint.
pub(crate) struct Sleeper {
    /// All UDP sockets in one descriptor, and those of length-coded bulk in another.
    sockets: Vec<OwnedFd>,
    /// The sockets of raw lanes, once they are open.
    raw: Sockets,
    longest: Duration,
}

impl Sleeper {
    /// `descriptors` become readable when a datagram arrives, `raw` are the sockets of raw lanes, `shm` says
    /// whether records may arrive through shared memory.
    pub fn new<'a>(
        descriptors: impl Iterator<Item = BorrowedFd<'a>>,
        raw: Sockets,
        shm: bool,
    ) -> std::io::Result<Sleeper> {
        let sockets = descriptors.map(|one| one.try_clone_to_owned()).collect::<Result<_, _>>()?;
        Ok(Sleeper { sockets, raw, longest: if shm { sleep::LONGEST_SHM } else { sleep::LONGEST_NET } })
    }

    /// Sleeps until a packet arrives, for at most `time` and at most as long as is safe for this endpoint.
    pub fn sleep(&self, time: Duration) {
        self.nap(time.min(self.longest));
    }

    /// Sleeps until a packet arrives, for at most `time`.
    pub fn nap(&self, time: Duration) {
        use nix::poll::{PollFd, PollFlags, ppoll};
        let all = self.sockets.iter().chain(self.raw.get().into_iter().flatten());
        let mut all: Vec<PollFd<'_>> = all.map(|one| PollFd::new(one.as_fd(), PollFlags::POLLIN)).collect();
        // An error (a signal) is a wake-up like any other.
        let _ = ppoll(&mut all, Some(time.into()), None);
    }
}
