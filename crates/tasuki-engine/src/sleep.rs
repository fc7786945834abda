//! Sleeping until a packet arrives.

use std::ops::Deref;
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
        let all = self.sockets.iter().chain(self.raw.get().into_iter().flatten().map(Deref::deref));
        let mut all: Vec<PollFd<'_>> = all.map(|one| PollFd::new(one.as_fd(), PollFlags::POLLIN)).collect();
        // An error (a signal) is a wake-up like any other.
        let _ = ppoll(&mut all, Some(time.into()), None);
        // A NIC that is set down leaves an error in its raw socket, which would end every sleep from then on
        // (net/packet/af_packet.c, packet_notifier): reading the error takes it away. The other descriptors
        // hold no errors of their own.
        let failed = |one: &&PollFd<'_>| one.revents().is_some_and(|told| told.contains(PollFlags::POLLERR));
        for one in all[self.sockets.len()..].iter().filter(failed) {
            let _ = nix::sys::socket::getsockopt(&one.as_fd(), nix::sys::socket::sockopt::SocketError);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::sync::{Arc, OnceLock};

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use tasuki_sys::fork::Uninherited;

    use super::*;

    /// What the kernel reports of a socket now.
    fn state(socket: &UdpSocket) -> PollFlags {
        let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO).expect("polled");
        fds[0].revents().expect("known flags")
    }

    /// A refused datagram leaves an error in a connected socket, as a NIC that is set down does in a raw one.
    #[test]
    fn an_error_in_the_socket_of_a_raw_lane_ends_one_sleep() {
        let nobody = ("127.0.0.1", tasuki_testkit::ports::own_port());
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(nobody).expect("connected");
        socket.send(b"?").expect("sent");
        let raw = socket.as_fd().try_clone_to_owned();
        let raw: Sockets = Arc::new(OnceLock::from(vec![Uninherited::new(raw.expect("a clone"))]));
        let sleeper = Sleeper::new([].into_iter(), raw, false).expect("a sleeper");
        assert!(state(&socket).contains(PollFlags::POLLERR));
        sleeper.nap(Duration::from_secs(100));
        assert!(state(&socket).is_empty(), "{:?}", state(&socket));
    }
}
