//! The raw lane: Ethernet frames of our own type. They leave by a packet socket, past the NIC's queueing
//! discipline, and arrive in a ring that is polled without a system call.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use tasuki_sys::fork::Uninherited;
use tasuki_sys::packet::{PacketRing, PacketSocket, RingLayout, RingSize};
use tasuki_wire::ETHERTYPE;

use crate::frames::Frames;
use crate::raw_filter::filter;
use crate::{LinkError, RawStats};
use tasuki_tuning::raw_lanes;

/// An Ethernet address.
pub type Mac = [u8; 6];

/// Bytes of an Ethernet header without a tag: both addresses and the type.
pub(crate) const ETHERNET: usize = 14;
/// Type of a tag between the addresses and the type (IEEE 802.1Q-2022, 9.3).
const TAG_TYPE: u16 = 0x8100;
/// Bytes of such a tag.
const TAG: usize = 4;

/// How to open a raw lane.
#[derive(Clone, Debug)]
pub struct RawOptions {
    /// The NIC's name.
    pub nic: String,
    /// Id of the endpoint. The kernel drops packets for other endpoints.
    pub endpoint: u32,
    /// Memory that the receive ring may take at most, in bytes. It is locked in the kernel. A slot takes 2
    /// KiB at MTU 1500 and 16 KiB at MTU 9000; there are at least as many slots as fit into 64 KiB.
    pub ring_bytes: u64,
}

/// A packet socket of one NIC with its ring and a queue of its own. Sending and receiving allocate nothing.
pub struct RawLink {
    ring: PacketRing,
    nic: String,
    mac: Mac,
    mtu: u32,
    frames: Frames,
    /// The tag between the addresses and the type, if there is one.
    tag: Option<[u8; TAG]>,
    /// Flushes in a row that sent nothing because the NIC's queue was full.
    stuck: u32,
    stats: RawStats,
    /// The connection to the broker that gave the socket, if one did. The broker counts the lane as used
    /// while it is open.
    _lease: Option<Uninherited<OwnedFd>>,
}

/// Opens a socket that has its filter and is not bound yet, so that nothing comes in.
fn prepare(options: &RawOptions, bypass: bool) -> Result<PacketSocket, LinkError> {
    let socket = PacketSocket::open(&options.nic, ETHERTYPE)?;
    // The filter is set before the socket is bound, so that no frame which it would drop ever comes in.
    socket.lock_filter(&filter(options.endpoint))?;
    socket.set_qdisc_bypass(bypass)?;
    socket.set_send_buffer(raw_lanes::SEND_BUFFER);
    Ok(socket)
}

/// Opens a lane's socket with its ring for another process to use. The socket stays tied to the NIC, the
/// ethertype and the endpoint, whatever that process tries. While the result lives its ring cannot be made
/// larger. With `bypass` frames go past the queueing discipline, unless the other process changes that.
pub fn open_for_another(options: &RawOptions, bypass: bool) -> Result<PacketRing, LinkError> {
    let socket = prepare(options, bypass)?;
    let size = RingSize::within(options.ring_bytes, socket.interface().mtu);
    let ring = socket.into_ring(size)?;
    ring.socket().seal_binding()?;
    Ok(ring)
}

impl RawLink {
    /// Opens the lane in the network namespace of the calling thread. Without `CAP_NET_RAW` the error is one
    /// that [`LinkError::is_forbidden`] tells.
    pub fn open(options: &RawOptions) -> Result<RawLink, LinkError> {
        let socket = prepare(options, true)?;
        let size = RingSize::within(options.ring_bytes, socket.interface().mtu);
        Ok(RawLink::over(socket.into_ring(size)?, &options.nic, None))
    }

    /// Takes over the socket of a lane that a broker has opened.
    pub(crate) fn adopt(
        socket: OwnedFd,
        nic: &str,
        layout: RingLayout,
        lease: Uninherited<OwnedFd>,
    ) -> Result<RawLink, LinkError> {
        let ring = PacketSocket::adopt(socket, nic, ETHERTYPE)?.map_ring(layout)?;
        Ok(RawLink::over(ring, nic, Some(lease)))
    }

    /// The lane over a socket with its ring.
    fn over(ring: PacketRing, nic: &str, lease: Option<Uninherited<OwnedFd>>) -> RawLink {
        let facts = ring.socket().interface();
        RawLink {
            ring,
            nic: nic.to_owned(),
            mac: facts.mac,
            mtu: facts.mtu,
            frames: Frames::new(ETHERNET + TAG + facts.mtu as usize),
            tag: None,
            stuck: 0,
            stats: RawStats::default(),
            _lease: lease,
        }
    }

    /// Sets the priority of frames that are queued from now on: 0 to 7 in a tag of VLAN 0 (IEEE
    /// 802.1Q-2022, 6.9.3), by which switches put them into one of their queues, or `None` for frames
    /// without a tag. Receivers take both, since their kernels take a tag of VLAN 0 off (net/core/dev.c,
    /// `__netif_receive_skb_core`).
    pub fn set_priority(&mut self, priority: Option<u8>) {
        self.tag = priority.map(|priority| {
            let [high, low] = TAG_TYPE.to_be_bytes();
            [high, low, (priority & 7) << 5, 0]
        });
    }

    /// Name of the NIC.
    pub fn nic(&self) -> &str {
        &self.nic
    }

    /// The NIC's own address, to which peers send.
    pub fn mac(&self) -> Mac {
        self.mac
    }

    /// Size of the largest packet in bytes, as of the opening of the lane.
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Memory of the receive ring in bytes.
    pub fn ring_bytes(&self) -> usize {
        self.ring.memory_bytes()
    }

    /// The descriptor, for `poll`: it is readable when frames wait.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.socket().as_fd()
    }

    /// Queues one packet of at most `max` bytes to the NIC with the address `to`. `write` writes it and
    /// returns its length; 0 means that there is no packet after all. Returns false, without calling
    /// `write`, if the queue is full: [`RawLink::flush`] it first. The kernel drops a packet that is
    /// longer than the MTU, and it is counted.
    pub fn queue(&mut self, to: Mac, max: usize, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let (from, tag) = (self.mac, self.tag);
        let header = ETHERNET + tag.map_or(0, |tag| tag.len());
        self.frames.push(header, max, |frame| {
            let len = write(&mut frame[header..]).min(max);
            if len == 0 {
                return 0;
            }
            frame[..6].copy_from_slice(&to);
            frame[6..12].copy_from_slice(&from);
            if let Some(tag) = tag {
                frame[12..12 + TAG].copy_from_slice(&tag);
            }
            frame[header - 2..header].copy_from_slice(&ETHERTYPE.to_be_bytes());
            len
        })
    }

    /// Packets that are queued and not yet handed to the kernel.
    pub fn queued(&self) -> usize {
        self.frames.len()
    }

    /// Hands queued packets to the kernel and returns how many it took. If the NIC's queue has no room
    /// they stay queued for the next call. After many calls in a row without room they are dropped and
    /// counted; so is a packet that the kernel refuses.
    pub fn flush(&mut self) -> usize {
        let (mut handed, mut errors) = (0, 0);
        while self.frames.len() > 0 {
            self.stats.send_calls += 1;
            match self.frames.send(self.ring.socket().as_fd()) {
                Ok((count, bytes)) => {
                    handed += count;
                    (self.stuck, errors) = (0, 0);
                    self.stats.sent_frames += count as u64;
                    self.stats.sent_bytes += bytes as u64;
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => {
                        self.put_off();
                        return handed;
                    }
                    // The kernel reports once that the NIC was down for a while, at the next call whatever
                    // that is.
                    Some(libc::ENETDOWN) if errors == 0 => errors += 1,
                    _ => {
                        self.stats.send_refused += 1;
                        self.frames.pop(1);
                        errors = 0;
                    }
                },
            }
        }
        handed
    }

    /// Leaves frames queued for which the NIC has no room, or drops them if that has been so for long.
    fn put_off(&mut self) {
        self.stats.send_again += 1;
        self.stuck += 1;
        if self.stuck >= raw_lanes::STUCK {
            self.stuck = 0;
            self.stats.send_stuck += self.frames.len() as u64;
            self.frames.pop(self.frames.len());
        }
    }

    /// Whether a frame waits. Makes no system call.
    pub fn has_frames(&self) -> bool {
        self.ring.has_frame()
    }

    /// Hands up to `budget` frames that wait to `each`, without their Ethernet headers but with the
    /// padding that a NIC may have added. Returns how many. Makes no system call.
    pub fn receive(&mut self, budget: usize, mut each: impl FnMut(&[u8])) -> usize {
        let mut count = 0;
        while count < budget {
            let Some(frame) = self.ring.next_frame() else { break };
            count += 1;
            match frame.get(ETHERNET..) {
                Some(packet) if frame.length() == frame.len() => {
                    self.stats.received_frames += 1;
                    self.stats.received_bytes += packet.len() as u64;
                    each(packet);
                }
                _ => self.stats.truncated += 1,
            }
        }
        count
    }

    /// Asks the kernel how many frames it has dropped because the ring was full (one system call). The sum is
    /// in the counters.
    pub fn look_for_drops(&mut self) -> io::Result<()> {
        let seen = self.ring.socket().statistics().map_err(|error| error.source)?;
        self.stats.kernel_drops += u64::from(seen.drops);
        Ok(())
    }

    /// Counters.
    pub fn stats(&self) -> RawStats {
        self.stats
    }
}
