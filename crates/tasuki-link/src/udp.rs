//! The UDP lane.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::follower::Follower;
use crate::queue::Queue;
use crate::receive::{Buffers, CALL_DATAGRAMS_MAX};
use crate::refusal::{Entry, read_error};
use crate::send::{SendHeaders, send_first, send_many};
use crate::{LinkError, Refusal, RefusalKind, UdpStats, socket};

/// Times that a send or receive is tried again after an error that may be an old one: the kernel reports an ICMP error once, at
/// whatever call comes next, also one to another address.
const OLD_ERRORS_MAX: u32 = 4;
/// Own refusals kept for `poll_refusal`; more say nothing new.
const OWN_REFUSALS_MAX: usize = 64;

/// How to open a lane.
#[derive(Clone, Debug)]
pub struct UdpOptions {
    /// Own address to bind to.
    pub address: IpAddr,
    /// Own port; 0 takes any free one.
    pub port: u16,
    /// NIC to bind to, so that packets leave and arrive by it alone. Without the permission the lane goes on unbound, see
    /// [`UdpLink::device_bound`].
    pub device: Option<String>,
    /// Receive buffer to ask for, in bytes (default 4 MiB). The kernel grants less if `net.core.rmem_max` is less and this is not root.
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
    fd: OwnedFd,
    local: SocketAddr,
    device_bound: bool,
    queue: Queue,
    headers: SendHeaders,
    buffers: Buffers,
    follower: Follower,
    /// Several packets waited last time at this socket, and at the follower's: ask for many at once.
    bursts: [bool; 2],
    /// Looks since all sockets were asked.
    looks: u32,
    /// The kernel has hinted at entries in the error queue.
    hinted: bool,
    own: VecDeque<Refusal>,
    stats: UdpStats,
}

/// While packets come by the follower's socket, the first one is asked at every so-manieth look.
const ALL_EVERY: u32 = 8;

/// Which socket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The one that hears everybody.
    All,
    /// The follower's.
    Followed,
}

/// What to do after an error of a send.
enum After {
    /// Try again at once.
    Retry,
    /// Leave the rest in the queue.
    Wait,
    /// The packet or batch is lost.
    Drop(io::Error),
}

impl UdpLink {
    /// Opens the lane: nonblocking, close-on-exec, never fragmenting.
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
            bursts: [false; 2],
            looks: 0,
            hinted: false,
            own: VecDeque::with_capacity(OWN_REFUSALS_MAX),
            stats: UdpStats::default(),
        })
    }

    /// Own address and port.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Whether the socket is bound to the device that was asked for.
    pub fn device_bound(&self) -> bool {
        self.device_bound
    }

    /// Whether the kernel takes batches (UDP_SEGMENT) here; it is given up once the NIC or route refuses them.
    pub fn segments(&self) -> bool {
        self.queue.join
    }

    /// For `poll`: readable when packets wait, error when refusals wait (then call [`UdpLink::receive`], which notices them).
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Queues one packet of at most `max` bytes, written by `write`, which returns its length (0: no packet after all). What `write`
    /// finds in its buffer is arbitrary. Returns false, without calling `write`, if the queue is full: [`UdpLink::flush`] first.
    pub fn queue(&mut self, to: SocketAddr, max: usize, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        self.queue.push(to, max, write)
    }

    /// Where the next packet may be written before its address is known: at least `least` bytes, what is in them is arbitrary. `None` if
    /// the queue has no such room. It is queued by [`UdpLink::queue_written`], or is nothing.
    pub fn room(&mut self, least: usize) -> Option<&mut [u8]> {
        self.queue.room(least)
    }

    /// Queues the packet that was written into the first `len` bytes, at least 1, of [`UdpLink::room`].
    pub fn queue_written(&mut self, to: SocketAddr, len: usize) {
        self.queue.add(to, len);
    }

    /// Packets queued and not yet handed to the kernel.
    pub fn queued(&self) -> usize {
        self.queue.packets()
    }

    /// Hands queued packets to the kernel; returns how many it took. What it cannot take now stays queued (see
    /// [`UdpLink::queued`]; wait for the descriptor to become writable). If it refuses packets for good they are dropped and
    /// counted, and the first such error is returned after the rest has been tried.
    pub fn flush(&mut self) -> Result<usize, LinkError> {
        let (mut handed, mut failure) = (0, None);
        while let Some(first) = self.queue.waiting().first() {
            let alone = first.split || self.queue.waiting().len() == 1;
            self.stats.send_calls += 1;
            let outcome = if alone {
                send_first(&self.fd, &self.queue).map(|()| 1)
            } else {
                send_many(&self.fd, &self.queue, &mut self.headers)
            };
            match outcome {
                Ok(sends) => (0..sends).for_each(|_| handed += self.sent()),
                Err(error) => match self.after(error) {
                    After::Retry => {}
                    After::Wait => break,
                    After::Drop(source) => {
                        let error = self.drop_first(source);
                        failure = failure.or(error);
                    }
                },
            }
        }
        failure.map_or(Ok(handed), Err)
    }

    /// The first send of the queue has gone.
    fn sent(&mut self) -> usize {
        if let Some(batch) = self.queue.front() {
            if batch.split {
                // Alone the packet went, joined it did not: this NIC or route cannot segment.
                self.queue.join = false;
            } else if batch.packets > 1 {
                self.stats.sent_batches += 1;
            }
        }
        let (packets, bytes) = self.queue.pop();
        self.stats.sent_packets += packets as u64;
        self.stats.sent_bytes += bytes as u64;
        packets
    }

    fn after(&mut self, error: io::Error) -> After {
        let errno = error.raw_os_error().unwrap_or(0);
        let Some(batch) = self.queue.front() else { return After::Wait };
        match errno {
            libc::EINTR => return After::Retry,
            // ENOBUFS: the queue of the NIC is full (IP_RECVERR makes the kernel say so); the packet has not gone.
            libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM => {
                self.stats.send_again += 1;
                return After::Wait;
            }
            // These are never old errors.
            libc::EINVAL | libc::EIO | libc::EAFNOSUPPORT | libc::EPERM => {}
            _ => {
                self.hinted = true;
                batch.errors += 1;
                // Every EMSGSIZE of our own making leaves an entry in the error queue: do not make many.
                if batch.errors <= if errno == libc::EMSGSIZE { 1 } else { OLD_ERRORS_MAX } {
                    return After::Retry;
                }
            }
        }
        // EINVAL: a segment exceeds the MTU, or the device has no checksum offload on some kernels; EIO: the same, or IPsec on the way;
        // EMSGSIZE: a segment exceeds the MTU. Which packet is at fault shows when they go one by one.
        let joined = batch.packets > 1 && !batch.split;
        if joined && matches!(errno, libc::EINVAL | libc::EIO | libc::EMSGSIZE | libc::EOPNOTSUPP) {
            batch.split = true;
            batch.errors = 0;
            self.stats.segment_refused += 1;
            return After::Retry;
        }
        After::Drop(error)
    }

    /// Drops the first send of the queue because of `source`.
    fn drop_first(&mut self, source: io::Error) -> Option<LinkError> {
        let to = self.queue.front()?.to;
        let (packets, _) = self.queue.pop();
        let errno = source.raw_os_error().unwrap_or(0);
        let mtu = if errno == libc::EMSGSIZE { self.own_mtu() } else { 0 };
        let kind = match errno {
            // The kernel says of no packet that is being sent that nobody listens: this was about another one.
            libc::ECONNREFUSED => RefusalKind::Other(errno),
            _ => RefusalKind::from_errno(errno, mtu),
        };
        let count = match kind {
            RefusalKind::TooBig { .. } => &mut self.stats.send_too_big,
            RefusalKind::Other(_) => &mut self.stats.send_other,
            _ => &mut self.stats.send_unreachable,
        };
        *count += packets as u64;
        self.keep(Refusal::own(to, kind));
        Some(LinkError::Send { from: self.local, to, packets, source })
    }

    fn keep(&mut self, refusal: Refusal) {
        if self.own.len() < OWN_REFUSALS_MAX {
            self.own.push_back(refusal);
        }
    }

    /// The MTU that this host has just refused a packet for; it stands in the error queue, where entries of this host's own making
    /// lack the port (the socket is not connected), so that they are of no other use. 0 if it is not there.
    fn own_mtu(&mut self) -> u32 {
        let mut mtu = 0;
        loop {
            match read_error(&self.fd) {
                Entry::Refusal(Refusal { kind: RefusalKind::TooBig { mtu: found }, own: true, .. }) => {
                    mtu = found
                }
                Entry::Refusal(Refusal { own: true, .. }) | Entry::Useless => {}
                Entry::Refusal(refusal) => self.keep(refusal),
                Entry::None => return mtu,
            }
        }
    }

    /// A socket of its own for whoever has lately sent a stream, if anybody has: receiving is cheaper by it. Call it now and then while
    /// packets come in large numbers. True if there is one now where there was none: a second descriptor to `poll`, see [`UdpLink::fds`].
    pub fn follow(&mut self) -> bool {
        self.follower.follow(&self.fd, self.local)
    }

    /// Whose stream has a socket of its own.
    pub fn followed(&self) -> Option<SocketAddr> {
        self.follower.followed_to()
    }

    /// All descriptors that become readable when packets wait: [`UdpLink::as_fd`], and perhaps another one.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.fd.as_fd()).chain(self.follower.as_fd())
    }

    /// Receives about `budget` packets (a coalesced batch is not cut) and hands each to `each`; returns how many, 0 if none waits.
    ///
    /// One system call for each socket if nothing or one packet waits. Fewer than `budget` does not mean that no more are waiting; 0 does.
    pub fn receive(
        &mut self,
        budget: usize,
        mut each: impl FnMut(SocketAddr, &[u8]),
    ) -> Result<usize, LinkError> {
        self.looks = self.looks.wrapping_add(1);
        if self.follower.socket().is_some() {
            let count = self.receive_from(Source::Followed, budget, &mut each)?;
            self.follower.followed(count);
            if count > 0 && !self.looks.is_multiple_of(ALL_EVERY) {
                return Ok(count);
            }
            let more = self.receive_from(Source::All, budget.saturating_sub(count).max(1), &mut each);
            return if count > 0 { Ok(count + more.unwrap_or(0)) } else { more };
        }
        self.receive_from(Source::All, budget, &mut each)
    }

    /// The same at one socket.
    fn receive_from(
        &mut self,
        source: Source,
        budget: usize,
        each: &mut impl FnMut(SocketAddr, &[u8]),
    ) -> Result<usize, LinkError> {
        let UdpLink { follower, buffers, stats, bursts, hinted, .. } = self;
        let burst = &mut bursts[source as usize];
        let (mut packets, mut errors) = (0, 0);
        while packets < budget {
            // One packet is asked for alone, which is cheaper, until that finds one: then others may be behind it.
            let want = if *burst { CALL_DATAGRAMS_MAX.min(budget - packets) } else { 1 };
            stats.receive_calls += 1;
            let fd = match source {
                Source::All => &self.fd,
                Source::Followed => follower.socket().unwrap_or(&self.fd),
            };
            match buffers.fill(fd, want) {
                Ok(came) => {
                    for index in 0..came {
                        packets += buffers.deliver(index, stats, &mut |from, packet: &[u8]| {
                            if source == Source::All {
                                follower.heard(from);
                            }
                            each(from, packet);
                        });
                    }
                    let before = std::mem::replace(burst, came == want || came > 1);
                    if !before || came < want {
                        // An unusable datagram is not "nothing waits".
                        if packets > 0 || came == 0 {
                            return Ok(packets);
                        }
                    }
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) => {
                        *burst = false;
                        return Ok(packets);
                    }
                    _ if errors < OLD_ERRORS_MAX => {
                        *hinted = true;
                        errors += 1;
                    }
                    _ if packets > 0 => return Ok(packets),
                    _ => return Err(LinkError::Receive { local: self.local, source: error }),
                },
            }
        }
        Ok(packets)
    }

    /// The next report of an undelivered packet. Costs a system call only if an error of a send or receive has hinted that there is one.
    pub fn poll_refusal(&mut self) -> Option<Refusal> {
        if let Some(refusal) = self.own.pop_front() {
            self.stats.refusals += 1;
            return Some(refusal);
        }
        while self.hinted {
            // What is said of packets to whom the follower is connected to is said to the follower.
            let told = match read_error(&self.fd) {
                Entry::None => self.follower.socket().map_or(Entry::None, read_error),
                told => told,
            };
            match told {
                // What this host itself refused was told when it did.
                Entry::Refusal(refusal) if !refusal.own => {
                    self.stats.refusals += 1;
                    return Some(refusal);
                }
                Entry::Refusal(_) | Entry::Useless => {}
                Entry::None => self.hinted = false,
            }
        }
        None
    }

    /// Counters.
    pub fn stats(&self) -> UdpStats {
        let drops = self.follower.socket().map_or(0, socket::drops);
        UdpStats { kernel_drops: self.stats.kernel_drops + u64::from(drops), ..self.stats }
    }
}
