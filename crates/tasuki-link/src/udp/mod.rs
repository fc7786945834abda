//! The UDP lane.

mod flush;
mod receive;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use tasuki_sys::fork::Uninherited;

use crate::follower::Follower;
use crate::queue::Queue;
use crate::receive::Buffers;
use crate::send::SendHeaders;
use crate::{LinkError, Refusal, UdpStats, socket};
use tasuki_tuning::datagrams;

/// How to open a lane.
#[derive(Clone, Debug)]
pub struct UdpOptions {
    /// Address to bind to.
    pub address: IpAddr,
    /// Port to bind to; 0 takes any free one.
    pub port: u16,
    /// NIC to bind to, so that packets leave and arrive by it alone. Without the permission the lane stays
    /// unbound, see [`UdpLink::device_bound`].
    pub device: Option<String>,
    /// Receive buffer to ask for, in bytes (default 4 MiB). The kernel grants less if `net.core.rmem_max` is
    /// less and this is not root.
    pub receive_buffer: usize,
    /// Send buffer to ask for, in bytes (default 4 MiB).
    pub send_buffer: usize,
}

impl UdpOptions {
    /// Options for `address`, any port, no device, buffers of 4 MiB.
    pub fn new(address: IpAddr) -> UdpOptions {
        UdpOptions { address, port: 0, device: None, receive_buffer: 4 << 20, send_buffer: 4 << 20 }
    }
}

/// A nonblocking UDP socket with queues of its own. Sending, receiving and queueing allocate nothing.
pub struct UdpLink {
    fd: Uninherited<OwnedFd>,
    local: SocketAddr,
    device_bound: bool,
    queue: Queue,
    headers: SendHeaders,
    buffers: Buffers,
    follower: Follower,
    /// Whether several packets waited at the last receive, of the first socket and of the follower's: then
    /// many are asked for at once.
    several: [bool; 2],
    /// Calls of `receive` so far.
    receives: u32,
    /// The kernel has hinted at entries in the error queue.
    hinted: bool,
    own: VecDeque<Refusal>,
    stats: UdpStats,
}

impl UdpLink {
    /// Opens the lane. Its socket is nonblocking, never fragments packets, and is no child's (neither after
    /// exec nor after fork).
    pub fn bind(options: &UdpOptions) -> Result<UdpLink, LinkError> {
        let opened = socket::open(options)?;
        Ok(UdpLink {
            fd: opened.fd,
            local: opened.local,
            device_bound: opened.device_bound,
            queue: Queue::new(opened.segment),
            headers: SendHeaders::new(),
            buffers: Buffers::new(opened.coalesce),
            follower: Follower::new(options.clone()),
            several: [false; 2],
            receives: 0,
            hinted: false,
            own: VecDeque::with_capacity(datagrams::OWN_REFUSALS_MAX),
            stats: UdpStats::default(),
        })
    }

    /// The lane's own address and port.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Whether the socket is bound to the device that was asked for.
    pub fn device_bound(&self) -> bool {
        self.device_bound
    }

    /// Whether batches are sent as one (UDP_SEGMENT). That is given up once the NIC or route refuses it.
    pub fn segments(&self) -> bool {
        self.queue.join
    }

    /// The descriptor, for `poll`. It is readable when packets wait, and has an error when refusals wait;
    /// [`UdpLink::receive`] notices both.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Queues one packet of at most `max` bytes. `write` writes it, into a buffer of arbitrary bytes, and
    /// returns its length; 0 means that there is no packet after all. Returns false, without calling
    /// `write`, if the queue is full: [`UdpLink::flush`] it first.
    pub fn queue(&mut self, to: SocketAddr, max: usize, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        self.queue.push(to, max, write)
    }

    /// Where the next packet may be written before its address is known: at least `least` bytes, which
    /// are arbitrary. `None` if the queue has no such room. What is written there is no packet unless
    /// [`UdpLink::queue_written`] queues it.
    pub fn room(&mut self, least: usize) -> Option<&mut [u8]> {
        self.queue.room(least)
    }

    /// Queues the packet that was written into the first `len` bytes, at least 1, of [`UdpLink::room`].
    pub fn queue_written(&mut self, to: SocketAddr, len: usize) {
        self.queue.add(to, len);
    }

    /// Packets that are queued and not yet handed to the kernel.
    pub fn queued(&self) -> usize {
        self.queue.packets()
    }

    /// Gives a peer that has lately sent a stream, if there is one, a socket of its own, by which
    /// receiving is cheaper. Call it now and then while packets come in large numbers. True if there is
    /// such a socket now where there was none: a second descriptor to `poll`, see [`UdpLink::fds`].
    pub fn follow(&mut self) -> bool {
        self.follower.follow(&self.fd, self.local)
    }

    /// The peer whose stream has a socket of its own, if there is one.
    pub fn followed(&self) -> Option<SocketAddr> {
        self.follower.followed_to()
    }

    /// All descriptors that become readable when packets wait: [`UdpLink::as_fd`], and perhaps that of a
    /// second socket.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.fd.as_fd()).chain(self.follower.as_fd())
    }

    /// Counters.
    pub fn stats(&self) -> UdpStats {
        let drops = self.follower.socket().map_or(0, socket::drops);
        UdpStats { kernel_drops: self.stats.kernel_drops + u64::from(drops), ..self.stats }
    }
}
