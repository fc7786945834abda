//! The sockets of one NIC: a UDP socket, and the raw lane if there is one.

use std::net::SocketAddr;

use tasuki_link::{Mac, RawLink, UdpLink};

/// The destination of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// A socket.
    Udp(SocketAddr),
    /// A NIC.
    Raw(Mac),
}

/// The sockets of one NIC, or of the routed rail.
pub(crate) struct Link {
    pub udp: UdpLink,
    /// The raw lane, if there is one.
    pub raw: Option<RawLink>,
    /// Name of the NIC; `None` for the routed rail.
    pub nic: Option<String>,
    /// The last poll of the UDP socket has found as much as it asked for, so that there is more.
    pub busy: bool,
    /// The NIC has a carrier, as far as is known.
    pub carrier: bool,
}

impl Link {
    pub fn new(udp: UdpLink, nic: Option<String>) -> Link {
        Link { udp, raw: None, nic, busy: false, carrier: true }
    }

    /// Queues a packet. One that finds no room even after a flush is lost, as it would be in a switch: the
    /// packet layer sends it again.
    pub fn queue(&mut self, to: Destination, packet: &[u8]) {
        let write = |bytes: &mut [u8]| {
            bytes[..packet.len()].copy_from_slice(packet);
            packet.len()
        };
        match (to, &mut self.raw) {
            (Destination::Udp(to), _) => {
                if !self.udp.queue(to, packet.len(), write) {
                    let _ = self.udp.flush();
                    self.udp.queue(to, packet.len(), write);
                }
            }
            (Destination::Raw(to), Some(raw)) => {
                if !raw.queue(to, packet.len(), write) {
                    raw.flush();
                    raw.queue(to, packet.len(), write);
                }
            }
            (Destination::Raw(_), None) => {}
        }
    }

    /// Hands what is queued to the kernel. Errors are counted by the socket; packets that are lost by them
    /// are sent again, on another rail if this one stays silent.
    pub fn flush(&mut self) {
        if self.udp.queued() > 0 {
            let _ = self.udp.flush();
        }
        self.flush_frames();
    }

    /// Hands the frames that are queued at the raw lane to the kernel.
    pub fn flush_frames(&mut self) {
        if let Some(raw) = &mut self.raw
            && raw.queued() > 0
        {
            raw.flush();
        }
    }
}
