//! Which sockets have something, in one system call for all of them.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use tasuki_link::LinkWatch;

use crate::state::Link;

/// Watches the UDP sockets of an endpoint. The rings of raw lanes are looked at without a call; to be watched here would cost something for
/// each of their frames.
///
/// So it does for each datagram, at the sender on the same machine or in the interrupt, and for each that leaves. A socket on which a stream comes
/// or leaves is *hot*: it is not watched, but asked at every look. Whoever is about to sleep lets all cool down first.
pub(crate) struct Ready {
    epoll: Epoll,
    events: Vec<EpollEvent>,
    /// Sockets that are to be asked now.
    due: Vec<usize>,
    sockets: Vec<Heat>,
    /// Looks since the watched ones were looked at.
    looks: u32,
    /// The kernel has something to tell of the NICs.
    news: bool,
}

/// Stands for the socket that tells of carriers, which is watched with the others and so costs no call of its own.
const CARRIERS: u64 = u64::MAX;

/// How much has come on a socket of late.
#[derive(Clone, Copy, Default)]
struct Heat {
    level: u32,
    hot: bool,
}

/// A socket is hot from this level on; packets raise it, looks that find nothing lower it by one, at 0 it is watched again.
const HOT: u32 = 64;
/// The level goes no higher.
const HOTTEST: u32 = 128;
/// While one is hot, the others are looked at in every so-manieth look.
const OTHERS_EVERY: u32 = 8;

impl Ready {
    pub fn new(links: &[Link], carriers: Option<&LinkWatch>) -> nix::Result<Ready> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for (index, link) in links.iter().enumerate() {
            // Errors (refusals) are reported without being asked for.
            link.udp
                .fds()
                .try_for_each(|fd| epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, index as u64)))?;
        }
        if let Some(carriers) = carriers {
            epoll.add(carriers.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, CARRIERS))?;
        }
        let (events, sockets) =
            (vec![EpollEvent::empty(); 2 * links.len() + 1], vec![Heat::default(); links.len()]);
        let due = Vec::with_capacity(links.len());
        Ok(Ready { epoll, events, due, sockets, looks: 0, news: false })
    }

    /// Finds the UDP sockets that have something now, or may have; how many.
    pub fn look(&mut self) -> usize {
        self.due.clear();
        let hot = self.sockets.iter().enumerate().filter(|(_, heat)| heat.hot).map(|(index, _)| index);
        self.due.extend(hot);
        if !self.due.is_empty() {
            self.looks = self.looks.wrapping_add(1);
            if !self.looks.is_multiple_of(OTHERS_EVERY) {
                return self.due.len();
            }
        }
        let count = self.epoll.wait(&mut self.events, EpollTimeout::ZERO).unwrap_or(0);
        let found = self.events[..count].iter().map(EpollEvent::data);
        for index in found.clone().filter(|data| *data != CARRIERS).map(|data| data as usize) {
            // A link may have two sockets.
            if !self.due.contains(&index) {
                self.due.push(index);
            }
        }
        self.news = found.into_iter().any(|data| data == CARRIERS);
        self.due.len()
    }

    /// The last look that found anything out has found news of carriers. Told once.
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// The index of one that the last look has found.
    pub fn due(&self, at: usize) -> usize {
        self.due[at]
    }

    /// So many packets have been taken from a socket that was due.
    pub fn took(&mut self, index: usize, link: &Link, count: usize) {
        let heat = &mut self.sockets[index];
        heat.level = match count {
            0 => heat.level.saturating_sub(1),
            some => (heat.level + some as u32).min(HOTTEST),
        };
        if !heat.hot && heat.level >= HOT {
            // One that the kernel does not let go of stays watched, which is slower and as good.
            for fd in link.udp.fds() {
                let _ = self.epoll.delete(fd);
            }
            heat.hot = true;
        } else if heat.hot && heat.level == 0 {
            self.watch(index, link);
        }
    }

    /// So many packets have been handed to the kernel at once. When it is done with one it looks who watches the socket, as it may be waiting
    /// for room: a stream that leaves makes a socket hot, too. A packet alone is none.
    pub fn gave(&mut self, index: usize, link: &Link, count: usize) {
        if count > 1 {
            self.took(index, link, count);
        }
    }

    /// A stream comes or leaves by this one: it is not watched.
    pub fn is_hot(&self, index: usize) -> bool {
        self.sockets[index].hot
    }

    /// Watches a hot socket again. If the kernel does not let us it stays hot, which is slower and as good.
    fn watch(&mut self, index: usize, link: &Link) {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, index as u64);
        if link
            .udp
            .fds()
            .all(|fd| matches!(self.epoll.add(fd, event), Ok(()) | Err(nix::errno::Errno::EEXIST)))
        {
            self.sockets[index] = Heat::default();
        }
    }

    /// All are watched again: for whoever is about to sleep until something comes.
    pub fn cool(&mut self, links: &[Link]) {
        for (index, link) in links.iter().enumerate() {
            if self.sockets[index].hot {
                self.watch(index, link);
            }
        }
    }

    /// A descriptor that becomes readable with any of the UDP sockets.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}

/// Sleeps until one of the descriptors is readable, at most so long.
pub(crate) fn sleep_on<'a>(descriptors: impl Iterator<Item = BorrowedFd<'a>>, time: Duration) {
    use nix::poll::{PollFd, PollFlags, ppoll};
    let mut all: Vec<PollFd<'_>> = descriptors.map(|one| PollFd::new(one, PollFlags::POLLIN)).collect();
    // An error (a signal) is a wake-up like any other.
    let _ = ppoll(&mut all, Some(time.into()), None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr, UdpSocket};
    use tasuki_link::{UdpLink, UdpOptions};

    fn link() -> Link {
        let udp = UdpLink::bind(&UdpOptions::new(IpAddr::V4(Ipv4Addr::LOCALHOST))).unwrap();
        Link { udp, raw: None, nic: None, busy: false, carrier: true }
    }

    /// Whether a datagram to this socket makes the common descriptor readable.
    fn wakes(ready: &Ready, link: &Link) -> bool {
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        sender.send_to(&[1], link.udp.local()).unwrap();
        readable(ready)
    }

    fn readable(ready: &Ready) -> bool {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        poll(&mut [PollFd::new(ready.as_fd(), PollFlags::POLLIN)], PollTimeout::from(100u16)).unwrap() == 1
    }

    #[test]
    fn a_stream_makes_hot_silence_cools_and_sleepers_are_woken() {
        let links = [link(), link()];
        let mut ready = Ready::new(&links, None).unwrap();
        assert_eq!(ready.look(), 0);
        for _ in 0..HOT {
            ready.took(1, &links[1], 1);
        }
        assert_eq!((ready.look(), ready.due(0)), (1, 1), "asked though nothing has come");
        assert!(!wakes(&ready, &links[1]), "nobody is woken for it");
        for _ in 0..HOT {
            assert_eq!(ready.look(), 1);
            ready.took(1, &links[1], 0);
        }
        assert_eq!((ready.look(), ready.due(0)), (1, 1), "watched again: the datagram is there");
        (0..HOT).for_each(|_| ready.took(1, &links[1], 1));
        ready.cool(&links);
        assert!(wakes(&ready, &links[1]) && wakes(&ready, &links[0]));
        assert_eq!(ready.look(), 2);
    }

    #[test]
    fn a_stream_that_leaves_makes_hot_packets_alone_do_not() {
        let links = [link()];
        let mut ready = Ready::new(&links, None).unwrap();
        (0..2 * HOT).for_each(|_| ready.gave(0, &links[0], 1));
        assert!(!ready.is_hot(0));
        ready.gave(0, &links[0], HOT as usize);
        assert!(ready.is_hot(0) && !wakes(&ready, &links[0]));
        assert_eq!(ready.look(), 1, "asked though nobody is woken for it");
    }

    /// A link whose stream has been given a socket of its own, and the sender of the stream.
    fn followed() -> (Link, UdpSocket) {
        let mut link = link();
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for _ in 0..1000 {
            sender.send_to(&[1], link.udp.local()).unwrap();
            while link.udp.receive(1, |_, _| {}).unwrap() == 0 {}
        }
        assert!(link.udp.follow());
        assert_eq!(link.udp.fds().count(), 2);
        (link, sender)
    }

    #[test]
    fn what_comes_by_the_second_socket_of_a_link_wakes_too() {
        let (link, sender) = followed();
        let links = [link];
        let mut ready = Ready::new(&links, None).unwrap();
        for _ in 0..2 {
            // As if it had been opened while the link was hot.
            ready.took(0, &links[0], HOT as usize);
            assert!(ready.is_hot(0));
            ready.cool(&links);
            sender.send_to(&[1], links[0].udp.local()).unwrap();
            assert!(readable(&ready), "from whom it follows");
            assert!(wakes(&ready, &links[0]), "from somebody else");
            assert_eq!((ready.look(), ready.due(0)), (1, 0), "one link, whichever of its sockets");
        }
    }
}
