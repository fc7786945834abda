//! Which sockets have something, in one system call for all of them.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::state::Link;

/// Watches the UDP sockets of an endpoint. The rings of raw lanes are looked at without a call; to be watched here would cost something for
/// each of their frames.
pub(crate) struct Ready {
    epoll: Epoll,
    events: Vec<EpollEvent>,
}

impl Ready {
    pub fn new(links: &[Link]) -> nix::Result<Ready> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for (index, link) in links.iter().enumerate() {
            // Errors (refusals) are reported without being asked for.
            epoll.add(link.udp.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, index as u64))?;
        }
        Ok(Ready { epoll, events: vec![EpollEvent::empty(); links.len()] })
    }

    /// Indices of the UDP sockets that have something now.
    pub fn look(&mut self) -> impl Iterator<Item = usize> + use<'_> {
        let count = self.epoll.wait(&mut self.events, EpollTimeout::ZERO).unwrap_or(0);
        self.events[..count].iter().map(|event| event.data() as usize)
    }

    /// A descriptor that becomes readable with any of the UDP sockets.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}

/// Sleeps until one of the descriptors is readable, at most so long.
pub(crate) fn sleep_on<'a>(descriptors: impl Iterator<Item = BorrowedFd<'a>>, time: Duration) {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let mut all: Vec<PollFd<'_>> = descriptors.map(|one| PollFd::new(one, PollFlags::POLLIN)).collect();
    let milliseconds = u16::try_from(time.as_micros().div_ceil(1000)).unwrap_or(u16::MAX);
    // An error (a signal) is a wake-up like any other.
    let _ = poll(&mut all, PollTimeout::from(milliseconds));
}
