//! The UDP lane.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::{LinkError, Refusal, UdpStats};

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

/// A nonblocking UDP socket with queues of its own.
pub struct UdpLink {
    fd: OwnedFd,
}

impl UdpLink {
    /// Opens the lane: nonblocking, close-on-exec, never fragmenting.
    pub fn bind(options: &UdpOptions) -> Result<UdpLink, LinkError> {
        let _ = options;
        todo!()
    }

    /// Own address and port.
    pub fn local(&self) -> SocketAddr {
        todo!()
    }

    /// Whether the socket is bound to the device that was asked for.
    pub fn device_bound(&self) -> bool {
        todo!()
    }

    /// For `poll`: readable when packets wait, error when refusals wait.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Queues one packet of at most `max` bytes, written by `write`, which returns its length (0: no packet after all).
    /// Returns false, without calling `write`, if the queue is full: [`UdpLink::flush`] first.
    pub fn queue(&mut self, to: SocketAddr, max: usize, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let _ = (to, max, write);
        todo!()
    }

    /// Hands queued packets to the kernel; returns how many it took. What it cannot take now stays queued (see
    /// [`UdpLink::queued`]; wait for the descriptor to become writable). If it refuses packets for good they are dropped and
    /// counted, and the first such error is returned after the rest has been tried.
    pub fn flush(&mut self) -> Result<usize, LinkError> {
        todo!()
    }

    /// Packets queued and not yet handed to the kernel.
    pub fn queued(&self) -> usize {
        todo!()
    }

    /// Receives about `budget` packets (a coalesced batch is not cut) and hands each to `each`; returns how many, 0 if none waits.
    pub fn receive(&mut self, budget: usize, each: impl FnMut(SocketAddr, &[u8])) -> Result<usize, LinkError> {
        let _ = (budget, each);
        todo!()
    }

    /// The next report of an undelivered packet. Costs a system call only if the kernel has hinted that there is one.
    pub fn poll_refusal(&mut self) -> Option<Refusal> {
        todo!()
    }

    /// Counters.
    pub fn stats(&self) -> UdpStats {
        todo!()
    }
}
