//! Which UDP sockets have datagrams, learnt in one system call for all of them.

use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use tasuki_link::LinkWatch;
use tasuki_tuning::sockets;

use super::link::Link;

/// Watches the UDP sockets of an endpoint with epoll(7). The rings of raw lanes are looked at without a
/// system call; to watch them too would cost something for each of their frames.
///
/// A watched socket costs something for each datagram: at the sender if that is on the same machine, or in
/// the interrupt; and for each datagram that leaves. So a socket by which a stream of datagrams arrives or
/// leaves is *hot*: it is not watched, but asked at every poll. Before a sleep, [`Readiness::cool`] has all
/// sockets watched again.
pub(crate) struct Readiness {
    epoll: Epoll,
    events: Vec<EpollEvent>,
    /// Indices of the links whose sockets are to be asked now.
    due: Vec<usize>,
    heat: Vec<Heat>,
    /// Polls since the watched sockets were asked for.
    polls: u32,
    /// The kernel has something to tell of the NICs.
    news: bool,
}

/// The event data of the socket that tells of link states. It is watched with the others and so costs no call
/// of its own.
const LINK_STATES: u64 = u64::MAX;

/// How much has arrived or left by one socket recently.
#[derive(Clone, Copy, Default)]
struct Heat {
    level: u32,
    hot: bool,
}

impl Readiness {
    pub fn new(links: &[Link], link_watch: Option<&LinkWatch>) -> nix::Result<Readiness> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for (index, link) in links.iter().enumerate() {
            // Errors (refusals) are reported without being asked for.
            link.udp
                .fds()
                .try_for_each(|fd| epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, index as u64)))?;
        }
        if let Some(link_watch) = link_watch {
            epoll.add(link_watch.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, LINK_STATES))?;
        }
        let events = vec![EpollEvent::empty(); 2 * links.len() + 1];
        let (heat, due) = (vec![Heat::default(); links.len()], Vec::with_capacity(links.len()));
        Ok(Readiness { epoll, events, due, heat, polls: 0, news: false })
    }

    /// Finds the UDP sockets that have something now, or may have; gives how many.
    pub fn poll(&mut self) -> usize {
        self.due.clear();
        let hot = self.heat.iter().enumerate().filter(|(_, heat)| heat.hot).map(|(index, _)| index);
        self.due.extend(hot);
        if !self.due.is_empty() {
            self.polls = self.polls.wrapping_add(1);
            if !self.polls.is_multiple_of(sockets::WATCHED_EVERY) {
                return self.due.len();
            }
        }
        let count = self.epoll.wait(&mut self.events, EpollTimeout::ZERO).unwrap_or(0);
        let found = self.events[..count].iter().map(EpollEvent::data);
        for index in found.clone().filter(|data| *data != LINK_STATES).map(|data| data as usize) {
            // A link may have two sockets.
            if !self.due.contains(&index) {
                self.due.push(index);
            }
        }
        self.news = found.into_iter().any(|data| data == LINK_STATES);
        self.due.len()
    }

    /// Whether the last poll that asked the kernel has found news of link states. Told once.
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// The link of the socket number `at` that the last poll has found.
    pub fn due(&self, at: usize) -> usize {
        self.due[at]
    }

    /// `count` packets have been taken from a socket that was due.
    pub fn received(&mut self, index: usize, link: &Link, count: usize) {
        let heat = &mut self.heat[index];
        heat.level = match count {
            0 => heat.level.saturating_sub(1),
            some => (heat.level + some as u32).min(sockets::HOTTEST),
        };
        if !heat.hot && heat.level >= sockets::HOT {
            // A descriptor that the kernel does not let go of stays watched, which is slower and as good.
            for fd in link.udp.fds() {
                let _ = self.epoll.delete(fd);
            }
            heat.hot = true;
        } else if heat.hot && heat.level == 0 {
            self.listen(index, link);
        }
    }

    /// Notes that `count` packets have been handed to the kernel at once. When the kernel is done with a
    /// packet it wakes the watchers of the socket, which may be waiting for room. A stream of datagrams that
    /// leaves therefore makes a socket hot, as one that arrives does. A single packet is no stream.
    pub fn sent(&mut self, index: usize, link: &Link, count: usize) {
        if count > 1 {
            self.received(index, link, count);
        }
    }

    /// Whether a socket is hot: a stream arrives or leaves by it, and it is not watched.
    pub fn is_hot(&self, index: usize) -> bool {
        self.heat[index].hot
    }

    /// Watches a hot socket again. If the kernel does not let us it stays hot, which is slower and as good.
    fn listen(&mut self, index: usize, link: &Link) {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, index as u64);
        if link
            .udp
            .fds()
            .all(|fd| matches!(self.epoll.add(fd, event), Ok(()) | Err(nix::errno::Errno::EEXIST)))
        {
            self.heat[index] = Heat::default();
        }
    }

    /// Watches all sockets again, so that a datagram at any of them wakes a sleeper.
    pub fn cool(&mut self, links: &[Link]) {
        for (index, link) in links.iter().enumerate() {
            if self.heat[index].hot {
                self.listen(index, link);
            }
        }
    }

    /// A descriptor that becomes readable with any of the watched sockets.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr, UdpSocket};
    use tasuki_link::{UdpLink, UdpOptions};

    fn link() -> Link {
        let udp = UdpLink::bind(&UdpOptions::new(IpAddr::V4(Ipv4Addr::LOCALHOST))).unwrap();
        Link::new(udp, None)
    }

    /// Whether a datagram to the link's socket makes the common descriptor readable.
    fn wakes(readiness: &Readiness, link: &Link) -> bool {
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        sender.send_to(&[1], link.udp.local()).unwrap();
        readable(readiness)
    }

    fn readable(readiness: &Readiness) -> bool {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        poll(&mut [PollFd::new(readiness.as_fd(), PollFlags::POLLIN)], PollTimeout::from(100u16)).unwrap()
            == 1
    }

    #[test]
    fn a_stream_makes_a_socket_hot_silence_cools_it_and_sleepers_are_woken() {
        let links = [link(), link()];
        let mut readiness = Readiness::new(&links, None).unwrap();
        assert_eq!(readiness.poll(), 0);
        for _ in 0..sockets::HOT {
            readiness.received(1, &links[1], 1);
        }
        assert_eq!((readiness.poll(), readiness.due(0)), (1, 1), "asked though nothing has come");
        assert!(!wakes(&readiness, &links[1]), "nobody is woken by it");
        for _ in 0..sockets::HOT {
            assert_eq!(readiness.poll(), 1);
            readiness.received(1, &links[1], 0);
        }
        assert_eq!((readiness.poll(), readiness.due(0)), (1, 1), "watched again: the datagram is there");
        (0..sockets::HOT).for_each(|_| readiness.received(1, &links[1], 1));
        readiness.cool(&links);
        assert!(wakes(&readiness, &links[1]) && wakes(&readiness, &links[0]));
        assert_eq!(readiness.poll(), 2);
    }

    #[test]
    fn a_stream_that_leaves_makes_a_socket_hot_and_single_packets_do_not() {
        let links = [link()];
        let mut readiness = Readiness::new(&links, None).unwrap();
        (0..2 * sockets::HOT).for_each(|_| readiness.sent(0, &links[0], 1));
        assert!(!readiness.is_hot(0));
        readiness.sent(0, &links[0], sockets::HOT as usize);
        assert!(readiness.is_hot(0) && !wakes(&readiness, &links[0]));
        assert_eq!(readiness.poll(), 1, "asked though nobody is woken for it");
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
    fn the_second_socket_of_a_link_wakes_sleepers_too() {
        let (link, sender) = followed();
        let links = [link];
        let mut readiness = Readiness::new(&links, None).unwrap();
        for _ in 0..2 {
            // As if it had been opened while the link was hot.
            readiness.received(0, &links[0], sockets::HOT as usize);
            assert!(readiness.is_hot(0));
            readiness.cool(&links);
            sender.send_to(&[1], links[0].udp.local()).unwrap();
            assert!(readable(&readiness), "from the sender of the stream");
            assert!(wakes(&readiness, &links[0]), "from another sender");
            assert_eq!((readiness.poll(), readiness.due(0)), (1, 0), "one link, whichever of its sockets");
        }
    }
}
