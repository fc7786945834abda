//! The receive ring of a packet socket: mapping it, its slots, and handing them back.

use super::layout::{ALIGNMENT, Header, Request, RingLayout, RingSize};
use super::layout::{STATUS_KERNEL, STATUS_USER, STATUS_VLAN_VALID, TPACKET_V2};
use super::{PacketError, PacketSocket, get_option, set_option, wait_for};
use crate::fork::UninheritedMemory;
use nix::poll::PollFlags;
use std::{
    io,
    ops::Deref,
    os::fd::{AsFd, AsRawFd},
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

/// The addressee of a frame (`sll_pkttype`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// To this interface.
    Host,
    /// To everyone.
    Broadcast,
    /// To a group.
    Multicast,
    /// Another host (in promiscuous mode).
    OtherHost,
    /// Anything else, e.g. a frame that this host sent.
    Other(u8),
}

impl PacketKind {
    fn from_raw(kind: u8) -> Self {
        match kind {
            libc::PACKET_HOST => Self::Host,
            libc::PACKET_BROADCAST => Self::Broadcast,
            libc::PACKET_MULTICAST => Self::Multicast,
            libc::PACKET_OTHERHOST => Self::OtherHost,
            other => Self::Other(other),
        }
    }
}

/// A packet socket with its mapped receive ring. Frames come in order. When as many frames wait as the ring
/// has slots, it is full and the kernel drops further ones.
pub struct PacketRing {
    /// A forked child would keep the socket open by the mapping, and would take frames out of the ring. It
    /// ends before the socket is closed.
    memory: UninheritedMemory,
    socket: PacketSocket,
    layout: RingLayout,
    next: u32,
}

// SAFETY: the mapping belongs to this value alone and is not tied to a thread; the kernel's side is
// synchronised through the status words.
unsafe impl Send for PacketRing {}

impl PacketRing {
    pub(super) fn map(socket: PacketSocket, layout: RingLayout) -> Result<Self, PacketError> {
        let unsound = || socket.error("lay out the ring", io::Error::from_raw_os_error(libc::EOVERFLOW));
        let bytes = layout.bytes().ok_or_else(unsound)?;
        // The kernel refuses any length but the ring's own.
        let memory =
            map_memory(&socket, bytes).map_err(|source| socket.error("map the receive ring", source))?;
        // SAFETY: the mapping has just been made, and nothing else knows of it.
        let memory = unsafe { UninheritedMemory::new(memory, bytes) };
        Ok(Self { memory, socket, layout, next: 0 })
    }

    /// Unmaps the ring and gives the socket back.
    pub fn into_socket(self) -> PacketSocket {
        self.socket
    }

    /// The layout of the ring.
    pub fn layout(&self) -> RingLayout {
        self.layout
    }

    /// The socket, for sending and for its statistics.
    pub fn socket(&self) -> &PacketSocket {
        &self.socket
    }

    /// Frames that fit into the ring.
    pub fn slots(&self) -> u32 {
        self.layout.slots
    }

    /// The next frame, if one has arrived. Dropping it gives its slot back to the kernel. Never blocks.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        let slot = self.slot();
        if self.is_ready(slot) { Some(Frame::new(self, slot)) } else { None }
    }

    /// Whether a frame has arrived.
    pub fn has_frame(&self) -> bool {
        self.is_ready(self.slot())
    }

    fn slot(&self) -> NonNull<u8> {
        let offset = self.next as usize * self.layout.slot_bytes as usize;
        // SAFETY: next < slots, so the slot lies inside of the mapping, which lives as long as self.
        unsafe { self.memory.at().add(offset) }
    }

    /// Whether the kernel has handed a slot of the mapping over.
    fn is_ready(&self, slot: NonNull<u8>) -> bool {
        // SAFETY: the status word is the first of the slot, 4-aligned, and is accessed atomically only.
        let status = unsafe { AtomicU32::from_ptr(slot.cast().as_ptr()) };
        // Acquire: what the kernel wrote before it handed the slot over is visible after this.
        status.load(Ordering::Acquire) & STATUS_USER != 0
    }

    /// Bytes of memory that the ring takes in the kernel.
    pub fn memory_bytes(&self) -> usize {
        self.bytes()
    }

    /// Waits until a frame has arrived or `limit` has passed. True if a frame may have arrived.
    pub fn wait(&self, limit: Duration) -> io::Result<bool> {
        wait_for(self.socket.as_fd(), PollFlags::POLLIN, limit)
    }

    fn bytes(&self) -> usize {
        self.layout.slots as usize * self.layout.slot_bytes as usize
    }
}

/// Has the kernel make a ring for the socket.
pub(super) fn make(socket: &PacketSocket, size: RingSize) -> Result<RingLayout, PacketError> {
    let fail = |request, source| socket.error(request, source);
    set_option(&socket.socket, libc::PACKET_VERSION, &TPACKET_V2)
        .map_err(|source| fail("choose TPACKET_V2", source))?;
    let mut header = [TPACKET_V2.cast_unsigned()];
    get_option(&socket.socket, libc::PACKET_HDRLEN, &mut header)
        .map_err(|source| fail("ask for the header's size", source))?;
    if header[0] as usize != size_of::<Header>() {
        return Err(fail("compare the header's size", io::Error::from_raw_os_error(libc::EPROTO)));
    }
    let request = size.layout(socket.interface.mtu);
    let request =
        request.ok_or_else(|| fail("lay out the ring", io::Error::from_raw_os_error(libc::EOVERFLOW)))?;
    set_option(&socket.socket, libc::PACKET_RX_RING, &request)
        .map_err(|source| fail("make the receive ring", source))?;
    Ok(RingLayout { slot_bytes: request.slot_bytes, slots: request.slots })
}

/// Has the kernel free the socket's ring.
pub(super) fn free(socket: &PacketSocket) -> Result<(), PacketError> {
    let none = Request { block_bytes: 0, blocks: 0, slot_bytes: 0, slots: 0 };
    set_option(&socket.socket, libc::PACKET_RX_RING, &none)
        .map_err(|source| socket.error("free the receive ring", source))
}

fn map_memory(socket: &PacketSocket, bytes: usize) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let descriptor = socket.socket.as_raw_fd();
    // SAFETY: a new shared mapping at an address of the kernel's choice, of the size that the ring was made
    // with; MAP_POPULATE so that no page fault meets a frame.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            protection,
            libc::MAP_SHARED | libc::MAP_POPULATE,
            descriptor,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("mapped at address zero"))
}

/// A received frame in its slot: its bytes from the Ethernet header on, without a VLAN tag.
pub struct Frame<'a> {
    ring: &'a mut PacketRing,
    slot: NonNull<u8>,
    offset: usize,
    captured: usize,
    length: usize,
    vlan: Option<u16>,
    kind: PacketKind,
    arrived: Duration,
}

impl<'a> Frame<'a> {
    /// `slot` is the ring's next one and belongs to user space.
    fn new(ring: &'a mut PacketRing, slot: NonNull<u8>) -> Self {
        // SAFETY: the slot belongs to us until its status is written; the kernel has filled in the header,
        // which is 16-aligned as every slot is.
        let header = unsafe { slot.cast::<Header>().read() };
        // SAFETY: the link-level address follows the aligned header (see HEADER_BYTES) inside of the slot.
        let address = unsafe {
            slot.add(size_of::<Header>().next_multiple_of(ALIGNMENT)).cast::<libc::sockaddr_ll>().read()
        };
        // The slice stays within the slot, whatever the header says.
        let slot_bytes = ring.layout.slot_bytes as usize;
        let offset = usize::from(header.mac_offset).min(slot_bytes);
        let captured = (header.captured as usize).min(slot_bytes - offset);
        let vlan = (header.status & STATUS_VLAN_VALID != 0).then_some(header.vlan_tci);
        let kind = PacketKind::from_raw(address.sll_pkttype);
        let arrived = Duration::new(header.seconds.into(), header.nanoseconds.min(999_999_999));
        Self { ring, slot, offset, captured, length: header.length as usize, vlan, kind, arrived }
    }

    /// Length of the frame when it arrived, bytes. It is more than the length of its slice if the frame did
    /// not fit into the slot.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The addressee.
    pub fn kind(&self) -> PacketKind {
        self.kind
    }

    /// When the kernel received the frame, as time since 1970.
    pub fn arrived(&self) -> Duration {
        self.arrived
    }

    /// The VLAN tag (TCI) if it had one.
    pub fn vlan(&self) -> Option<u16> {
        self.vlan
    }
}

impl Deref for Frame<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: offset + captured lies inside of the slot (see `new`), which the kernel does not touch
        // until this frame is dropped.
        unsafe { std::slice::from_raw_parts(self.slot.add(self.offset).as_ptr(), self.captured) }
    }
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        // SAFETY: the status word is the first of the slot, 4-aligned, and is accessed atomically only.
        let status = unsafe { AtomicU32::from_ptr(self.slot.cast().as_ptr()) };
        // Release: the reads of the frame are complete before the kernel may overwrite it.
        status.store(STATUS_KERNEL, Ordering::Release);
        self.ring.next = (self.ring.next + 1) & (self.ring.layout.slots - 1);
    }
}
