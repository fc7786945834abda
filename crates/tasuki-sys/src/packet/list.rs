//! The packet sockets of a network namespace, whichever processes have them.

use super::PacketSocket;
use std::{collections::BTreeSet, io, os::fd::AsFd};

/// The kernel's number of a socket. A socket has it as long as any process has the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SocketNumber(u64);

impl PacketSocket {
    /// The socket's number.
    pub fn number(&self) -> io::Result<SocketNumber> {
        Ok(SocketNumber(nix::sys::stat::fstat(self.as_fd())?.st_ino))
    }
}

/// The packet sockets of the calling thread's network namespace that any process has open. A socket that is
/// being closed is not among them any more, though the kernel may not be done with it.
pub fn open_sockets() -> io::Result<BTreeSet<SocketNumber>> {
    let list = std::fs::read_to_string("/proc/thread-self/net/packet")?;
    // The number is the last word of a line (`packet_seq_show` in net/packet/af_packet.c); the first line is
    // a heading.
    let number = |line: &str| line.split_ascii_whitespace().last()?.parse().ok().map(SocketNumber);
    Ok(list.lines().skip(1).filter_map(number).collect())
}
