//! Changes of interfaces: the kernel reports when one loses its carrier, goes down, or comes back. Any user
//! may listen.
//!
//! Only the fixed heads of messages are read (include/uapi/linux/rtnetlink.h): they hold all that matters
//! here, so attributes that a later kernel adds cannot disturb.

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::net::if_::if_nametoindex;
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

/// Multicast group of changes of interfaces (`RTMGRP_LINK`).
const GROUP: u32 = 1;
/// `struct nlmsghdr`, `struct ifinfomsg`.
const HEAD: usize = 16;
const INFO: usize = 16;
/// A request for all interfaces without their counters: both heads and one attribute.
const REQUEST: usize = HEAD + INFO + 8;
/// `IFLA_EXT_MASK` and `RTEXT_FILTER_SKIP_STATS`.
const EXT_MASK: u16 = 29;
const SKIP_STATS: u32 = 8;
/// Most datagrams that are read in one call, because the caller has other things to do.
const DATAGRAMS: usize = 64;

/// Watches interfaces of the network namespace in which it was opened. Never waits.
pub struct LinkWatch {
    socket: Socket,
    buffer: Vec<u8>,
    known: Known,
}

impl LinkWatch {
    /// Watches the interfaces of these names, and asks for their state. Each counts as having a carrier until
    /// the first [`LinkWatch::poll`] that says otherwise. An interface that does not exist, or is made again
    /// later, is never reported.
    pub fn open<'a>(names: impl IntoIterator<Item = &'a str>) -> io::Result<LinkWatch> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, GROUP))?;
        let watched = names.into_iter().map(|name| if_nametoindex(name).ok());
        let known = Known::new(watched);
        let mut watch = LinkWatch { socket, buffer: Vec::with_capacity(32 << 10), known };
        watch.look();
        Ok(watch)
    }

    /// Requests the state of all interfaces. The answer arrives as changes do.
    fn look(&mut self) {
        let request = self.known.ask();
        if self.socket.send(&request, libc::MSG_DONTWAIT).is_err() {
            (self.known.asked, self.known.stale) = (false, true);
        }
    }

    /// Reads what the kernel has reported, and calls `change` with the place of each name whose state has
    /// changed, and whether its interface has a carrier now.
    pub fn poll(&mut self, mut change: impl FnMut(usize, bool)) {
        for _ in 0..DATAGRAMS {
            self.buffer.clear();
            match self.socket.recv_from(&mut self.buffer, libc::MSG_DONTWAIT) {
                // A message that is not from the kernel is ignored.
                Ok((_, from)) if from.port_number() != 0 => continue,
                Ok(_) => self.known.hear(&self.buffer, &mut change),
                // Messages were lost because they were not read in time. Until the socket is empty more may
                // be lost, and the kernel does not report that (net/netlink/af_netlink.c, `netlink_overrun`).
                // So the state is requested only once the socket is empty: an earlier answer could be as old
                // as what was lost.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => self.known.stale = true,
                Err(_) if self.known.stale && !self.known.asked => self.look(),
                Err(_) => break,
            }
        }
    }
}

impl AsFd for LinkWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// One watched interface.
struct Watched {
    index: Option<u32>,
    carrier: bool,
    /// Whether the answer to the current request has listed it.
    found: bool,
}

/// The state of the watched interfaces, without the socket.
struct Known {
    watched: Vec<Watched>,
    sequence: u32,
    /// Whether the answer to a request for all interfaces is awaited.
    asked: bool,
    /// Whether another request is needed after that.
    stale: bool,
}

impl Known {
    fn new(indices: impl Iterator<Item = Option<u32>>) -> Known {
        let watched = indices.map(|index| Watched { index, carrier: true, found: false }).collect();
        Known { watched, sequence: 0, asked: false, stale: false }
    }

    /// The request for the state of all interfaces.
    fn ask(&mut self) -> [u8; REQUEST] {
        self.sequence = self.sequence.wrapping_add(1);
        (self.asked, self.stale) = (true, false);
        self.watched.iter_mut().for_each(|one| one.found = false);
        let mut request = [0; REQUEST];
        let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
        request[..4].copy_from_slice(&(REQUEST as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
        request[6..8].copy_from_slice(&flags.to_ne_bytes());
        request[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        let attribute = HEAD + INFO;
        request[attribute..attribute + 2].copy_from_slice(&8u16.to_ne_bytes());
        request[attribute + 2..attribute + 4].copy_from_slice(&EXT_MASK.to_ne_bytes());
        request[attribute + 4..].copy_from_slice(&SKIP_STATS.to_ne_bytes());
        request
    }

    /// Reads the messages of one datagram.
    fn hear(&mut self, mut rest: &[u8], change: &mut impl FnMut(usize, bool)) {
        while let Some(head) = rest.get(..HEAD) {
            let len = word(head, 0) as usize;
            let Some(message) = rest.get(..len).filter(|_| len >= HEAD) else { return };
            let kind = u16::from_ne_bytes([head[4], head[5]]);
            self.take(kind, message, change);
            rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
    }

    fn take(&mut self, kind: u16, message: &[u8], change: &mut impl FnMut(usize, bool)) {
        let ours = word(message, 8) == self.sequence && self.asked;
        match i32::from(kind) {
            libc::NLMSG_DONE if ours => {
                self.asked = false;
                for at in 0..self.watched.len() {
                    if !self.watched[at].found {
                        self.set(at, false, change);
                    }
                }
            }
            libc::NLMSG_ERROR if ours => self.asked = false,
            _ if kind == libc::RTM_NEWLINK || kind == libc::RTM_DELLINK => {
                let Some(info) = message.get(HEAD..HEAD + INFO) else { return };
                // Bridges report on their ports in messages of another family, which say nothing of the
                // interface.
                if i32::from(info[0]) != libc::AF_UNSPEC {
                    return;
                }
                let (index, flags) = (word(info, 4), word(info, 8));
                let carrier = kind == libc::RTM_NEWLINK && CARRIER & !flags == 0;
                let mut watched = self.watched.iter();
                let Some(at) = watched.position(|one| one.index == Some(index)) else { return };
                self.watched[at].found = true;
                self.set(at, carrier, change);
            }
            _ => {}
        }
    }

    fn set(&mut self, at: usize, carrier: bool, change: &mut impl FnMut(usize, bool)) {
        if std::mem::replace(&mut self.watched[at].carrier, carrier) != carrier {
            change(at, carrier);
        }
    }
}

/// The flags of an interface that is up and has a carrier.
const CARRIER: u32 = (libc::IFF_UP | libc::IFF_LOWER_UP) as u32;

/// Four bytes, in the order of this host.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, sequence: u32, family: u8, index: u32, flags: u32) -> Vec<u8> {
        let mut bytes = vec![0; HEAD + INFO + 5];
        let len = bytes.len() as u32;
        bytes[..4].copy_from_slice(&len.to_ne_bytes());
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        bytes[16] = family;
        bytes[20..24].copy_from_slice(&index.to_ne_bytes());
        bytes[24..28].copy_from_slice(&flags.to_ne_bytes());
        // Messages begin at multiples of four bytes.
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn heard(known: &mut Known, messages: &[Vec<u8>]) -> Vec<(usize, bool)> {
        let mut changes = Vec::new();
        known.hear(&messages.concat(), &mut |at, carrier| changes.push((at, carrier)));
        changes
    }

    const UP: u32 = libc::IFF_UP as u32;
    const BRIDGE: u8 = libc::AF_BRIDGE as u8;

    #[test]
    fn changes_of_watched_interfaces_are_told_once() {
        let mut known = Known::new([Some(4), None, Some(9)].into_iter());
        let new = libc::RTM_NEWLINK;
        assert_eq!(heard(&mut known, &[message(new, 0, 0, 4, CARRIER), message(new, 0, 0, 5, 0)]), []);
        let lost =
            [message(new, 0, 0, 9, UP), message(new, 0, 0, 9, UP), message(new, 0, 0, 4, CARRIER | 64)];
        assert_eq!(heard(&mut known, &lost), [(2, false)]);
        assert_eq!(heard(&mut known, &[message(new, 0, 0, 9, CARRIER)]), [(2, true)]);
        assert_eq!(heard(&mut known, &[message(libc::RTM_DELLINK, 0, BRIDGE, 4, 0)]), []);
        assert_eq!(heard(&mut known, &[message(libc::RTM_DELLINK, 0, 0, 4, CARRIER)]), [(0, false)]);
    }

    #[test]
    fn a_look_finds_what_is_gone_and_one_that_was_not_asked_for_nothing() {
        let mut known = Known::new([Some(4), Some(9)].into_iter());
        let done = |sequence| message(libc::NLMSG_DONE as u16, sequence, 0, 0, 0);
        assert_eq!(heard(&mut known, &[done(0)]), []);
        known.ask();
        let found = message(libc::RTM_NEWLINK, 1, 0, 9, CARRIER);
        assert_eq!(heard(&mut known, &[found, done(7)]), []);
        assert_eq!(heard(&mut known, &[done(1)]), [(0, false)]);
        assert!(!known.asked);
    }

    #[test]
    fn nonsense_ends_nowhere() {
        let mut known = Known::new([Some(0)].into_iter());
        let whole = message(libc::RTM_NEWLINK, 0, 0, 7, 0);
        for len in [0, 1, 15, 16, 20, 31, 1000, u32::MAX] {
            let mut bytes = whole.clone();
            bytes[..4].copy_from_slice(&len.to_ne_bytes());
            assert_eq!(heard(&mut known, &[bytes]), []);
        }
        for end in 0..whole.len() {
            assert_eq!(heard(&mut known, &[whole[..end].to_vec()]), []);
        }
    }
}
