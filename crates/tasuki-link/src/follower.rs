//! A second, connected socket for the peer that sends most. For a datagram to a socket that is not connected
//! the kernel looks up, each time, the route by which it came and the socket that it is for. For a datagram
//! to a *connected* socket it remembers both, which spares about a tenth of what a stream costs without
//! coalescing. So the sender of a stream gets a socket of its own: bound like the first one, to the same
//! port, but connected to that sender. It is for receiving alone; everything that is sent leaves by the first
//! socket. The kernel remembers only for the socket that was bound last, so there is one such socket, and it
//! follows the peer that sends most.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{SockaddrStorage, connect};
use tasuki_sys::fork::Uninherited;

use crate::{UdpOptions, socket};
use tasuki_tuning::datagrams::STREAM;

/// The second socket, and the peer that it should be connected to.
pub(crate) struct Follower {
    /// The options of the first socket.
    options: UdpOptions,
    socket: Option<Uninherited<OwnedFd>>,
    /// The peer that the second socket is connected to.
    to: Option<SocketAddr>,
    /// The kernel has refused a second socket; it is not asked again.
    refused: bool,
    ballot: Ballot,
}

impl Follower {
    /// The follower of a first socket that was opened with `options`.
    pub(crate) fn new(options: UdpOptions) -> Follower {
        Follower { options, socket: None, to: None, refused: false, ballot: Ballot::default() }
    }

    /// Counts a datagram that has come by the first socket.
    pub(crate) fn heard(&mut self, from: SocketAddr) {
        self.ballot.vote(from);
    }

    /// Counts datagrams that have come by the second socket.
    pub(crate) fn followed(&mut self, count: usize) {
        self.ballot.against(count);
    }

    /// The second socket, if there is one.
    pub(crate) fn socket(&self) -> Option<&OwnedFd> {
        self.socket.as_deref()
    }

    /// The peer that the second socket is connected to.
    pub(crate) fn followed_to(&self) -> Option<SocketAddr> {
        self.to
    }

    pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Connects the second socket to the peer from which most datagrams come by the first socket, if these
    /// are a stream. `main` is the first socket and `local` its address. True if there is now a second socket
    /// where there was none.
    pub(crate) fn follow(&mut self, main: &OwnedFd, local: SocketAddr) -> bool {
        let Some(to) = self.ballot.winner().filter(|_| !self.refused) else { return false };
        self.ballot = Ballot::default();
        let known = self.socket.take();
        let new = known.is_none();
        let socket = known.map_or_else(|| self.open(main, local), Ok);
        self.socket = socket.and_then(|socket| connect_to(&socket, to).map(|()| socket)).ok();
        self.refused = self.socket.is_none();
        self.to = self.socket.as_ref().map(|_| to);
        new && !self.refused
    }

    /// Opens the second socket. Two sockets of one user can have one port if both permit it (SO_REUSEPORT)
    /// while the second is bound. Both permit it no longer afterwards, since another process that bound to
    /// the port would get our datagrams.
    fn open(&self, main: &OwnedFd, local: SocketAddr) -> io::Result<Uninherited<OwnedFd>> {
        let options = UdpOptions { port: local.port(), ..self.options.clone() };
        socket::share(main, true)?;
        let opened = socket::open_beside(&options);
        socket::share(main, false)?;
        let opened = opened.map_err(io::Error::other)?;
        socket::share(&opened.fd, false)?;
        Ok(opened.fd)
    }
}

fn connect_to(socket: &OwnedFd, to: SocketAddr) -> io::Result<()> {
    Ok(connect(socket.as_raw_fd(), &SockaddrStorage::from(to))?)
}

/// Finds a peer that has sent more than all others together, by the majority vote of Boyer and Moore: each
/// datagram is a vote for its sender and against all others.
#[derive(Default)]
struct Ballot {
    leader: Option<SocketAddr>,
    lead: u32,
}

impl Ballot {
    /// Counts a datagram from a peer.
    fn vote(&mut self, from: SocketAddr) {
        if self.leader == Some(from) {
            self.lead = self.lead.saturating_add(1);
        } else if self.lead == 0 {
            (self.leader, self.lead) = (Some(from), 1);
        } else {
            self.lead -= 1;
        }
    }

    /// Counts votes against all peers.
    fn against(&mut self, count: usize) {
        self.lead = self.lead.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// The peer that sends a stream, if there is one.
    fn winner(&self) -> Option<SocketAddr> {
        self.leader.filter(|_| self.lead >= STREAM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn the_peer_that_sends_most_wins_and_only_by_a_wide_margin() {
        let mut ballot = Ballot::default();
        for turn in 0..10 * STREAM {
            ballot.vote(from(1 + (turn % 2) as u16));
        }
        assert_eq!(ballot.winner(), None, "two that send as much as each other");
        for turn in 0..4 * STREAM {
            ballot.vote(from(if turn % 4 == 0 { 3 } else { 4 }));
        }
        assert_eq!(ballot.winner(), Some(from(4)));
    }

    #[test]
    fn a_followed_peer_is_left_only_for_one_that_sends_more() {
        let mut ballot = Ballot::default();
        for _ in 0..10 * STREAM {
            ballot.vote(from(1));
            ballot.against(1);
        }
        assert_eq!(ballot.winner(), None);
        (0..STREAM).for_each(|_| ballot.vote(from(1)));
        assert_eq!(ballot.winner(), Some(from(1)));
    }

    /// While the port may be shared, another user's socket that permits all sharing is refused: the kernel
    /// would give it the datagrams of this one.
    #[test]
    fn another_user_cannot_take_the_port_while_it_may_be_shared() {
        let options = UdpOptions::new([127, 0, 0, 1].into());
        let main = socket::open(&options).unwrap();
        socket::share(&main.fd, true).unwrap();
        let local = SockaddrStorage::from(main.local);
        let is_root = nix::unistd::geteuid().is_root();
        let thief = std::thread::spawn(move || {
            if is_root {
                // SAFETY: no pointers are passed. Called so, and not by libc's function, it changes the user
                // of this thread alone.
                let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
                assert_eq!(changed, 0);
            }
            let kind = nix::sys::socket::SockType::Datagram;
            let family = nix::sys::socket::AddressFamily::Inet;
            let fd = nix::sys::socket::socket(family, kind, nix::sys::socket::SockFlag::empty(), None)?;
            nix::sys::socket::setsockopt(&fd, nix::sys::socket::sockopt::ReuseAddr, &true)?;
            if is_root {
                nix::sys::socket::setsockopt(&fd, nix::sys::socket::sockopt::ReusePort, &true)?;
            }
            nix::sys::socket::bind(fd.as_raw_fd(), &local)
        });
        assert_eq!(thief.join().expect("no panic"), Err(nix::errno::Errno::EADDRINUSE));
    }
}
