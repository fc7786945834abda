//! What becomes of interfaces: the kernel tells when one loses its carrier, goes down, or comes back. Any user may listen.
//!
//! Only the fixed heads of messages are read (include/uapi/linux/rtnetlink.h): they say all that matters here, and no attribute that
//! a later kernel adds can be in the way.

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
/// Datagrams taken at once: whoever asks has other things to do.
const DATAGRAMS: usize = 64;

/// Watches interfaces of the network namespace in which it was opened. Never waits.
pub struct LinkWatch {
    socket: Socket,
    buffer: Vec<u8>,
    known: Known,
}

impl LinkWatch {
    /// Watches the interfaces of these names, and looks how they are. Each is taken to have a carrier until the first [`LinkWatch::poll`]
    /// that says otherwise. One that is not there, or is made anew later, is never heard of.
    pub fn open<'a>(names: impl IntoIterator<Item = &'a str>) -> io::Result<LinkWatch> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, GROUP))?;
        let watched = names.into_iter().map(|name| if_nametoindex(name).ok());
        let known = Known::new(watched);
        let mut watch = LinkWatch { socket, buffer: Vec::with_capacity(32 << 10), known };
        watch.look();
        Ok(watch)
    }

    /// Asks for the state of all; the answer comes as changes do.
    fn look(&mut self) {
        let request = self.known.ask();
        if self.socket.send(&request, libc::MSG_DONTWAIT).is_err() {
            (self.known.asked, self.known.stale) = (false, true);
        }
    }

    /// Takes in what the kernel has told: the place of each name with a change, and whether its interface has a carrier now.
    pub fn poll(&mut self, mut change: impl FnMut(usize, bool)) {
        for _ in 0..DATAGRAMS {
            self.buffer.clear();
            match self.socket.recv_from(&mut self.buffer, libc::MSG_DONTWAIT) {
                // What does not come from the kernel says nothing.
                Ok((_, from)) if from.port_number() != 0 => continue,
                Ok(_) => self.known.hear(&self.buffer, &mut change),
                // Something was lost because nobody listened. Until the socket is empty more may be, and of that the kernel says nothing
                // (net/netlink/af_netlink.c, `netlink_overrun`): a look before would be as old as what was lost.
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

/// One interface.
struct Watched {
    index: Option<u32>,
    carrier: bool,
    /// The look that is under way has found it.
    found: bool,
}

/// What is known of the interfaces: all but the socket.
struct Known {
    watched: Vec<Watched>,
    sequence: u32,
    /// A look at all is under way.
    asked: bool,
    /// Another one is needed after it.
    stale: bool,
}

impl Known {
    fn new(indices: impl Iterator<Item = Option<u32>>) -> Known {
        let watched = indices.map(|index| Watched { index, carrier: true, found: false }).collect();
        Known { watched, sequence: 0, asked: false, stale: false }
    }

    /// The request for a look at all.
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

    /// The messages of one datagram.
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
                // Bridges talk of their ports in messages of their own, which say nothing of the interface.
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

/// Up, and the other end is there.
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
        // The next one begins at a multiple of four.
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
