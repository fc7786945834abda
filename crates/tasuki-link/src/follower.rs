//! A second socket for whoever sends most.
//!
//! For a datagram to a socket that hears everybody the kernel looks up, each time, which route it came by and whose it is. For one to a
//! *connected* socket it remembers both, which spares about a tenth of what a stream costs without coalescing. So the sender of a stream gets a
//! socket of its own: bound like the first one, to the same port, but connected to that sender. It is for receiving alone; what
//! is sent leaves by the first one. The kernel remembers only for the socket that was bound last, so there is one, and it
//! follows whoever sends most.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{SockaddrStorage, connect};

use crate::{UdpOptions, socket};

/// So many more datagrams than from all others make a stream.
const STREAM: u32 = 256;

/// The second socket, and who it should be for.
pub(crate) struct Follower {
    /// Of the first socket.
    options: UdpOptions,
    socket: Option<OwnedFd>,
    /// To whom it is connected.
    to: Option<SocketAddr>,
    /// The kernel has refused it.
    refused: bool,
    ballot: Ballot,
}

impl Follower {
    /// Of a socket that was opened with `options`.
    pub(crate) fn new(options: UdpOptions) -> Follower {
        Follower { options, socket: None, to: None, refused: false, ballot: Ballot::default() }
    }

    /// A datagram from there has come by the first socket.
    pub(crate) fn heard(&mut self, from: SocketAddr) {
        self.ballot.vote(from);
    }

    /// So many have come by the second one.
    pub(crate) fn followed(&mut self, count: usize) {
        self.ballot.against(count);
    }

    /// The socket, if there is one.
    pub(crate) fn socket(&self) -> Option<&OwnedFd> {
        self.socket.as_ref()
    }

    /// For whom it is.
    pub(crate) fn followed_to(&self) -> Option<SocketAddr> {
        self.to
    }

    pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Follows whoever now sends most by the first socket `main`, whose address is `local`, if that is a stream. True if there is now a socket
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

    /// Two sockets can have one port if both say so while the second is bound. Nobody else may do that later: they would get what is ours.
    fn open(&self, main: &OwnedFd, local: SocketAddr) -> io::Result<OwnedFd> {
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

/// Who has sent more than all others, as found by Boyer and Moore: votes for one and against all others.
#[derive(Default)]
struct Ballot {
    leader: Option<SocketAddr>,
    lead: u32,
}

impl Ballot {
    fn vote(&mut self, from: SocketAddr) {
        if self.leader == Some(from) {
            self.lead = self.lead.saturating_add(1);
        } else if self.lead == 0 {
            (self.leader, self.lead) = (Some(from), 1);
        } else {
            self.lead -= 1;
        }
    }

    fn against(&mut self, count: usize) {
        self.lead = self.lead.saturating_sub(u32::try_from(count).unwrap_or(u32::MAX));
    }

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
    fn whoever_sends_most_wins_and_only_by_a_wide_margin() {
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
    fn whoever_is_followed_is_left_only_for_one_who_sends_more() {
        let mut ballot = Ballot::default();
        for _ in 0..10 * STREAM {
            ballot.vote(from(1));
            ballot.against(1);
        }
        assert_eq!(ballot.winner(), None);
        (0..STREAM).for_each(|_| ballot.vote(from(1)));
        assert_eq!(ballot.winner(), Some(from(1)));
    }
}
